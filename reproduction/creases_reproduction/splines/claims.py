"""The claims of source 003, the lecture on networks as splines, that are theorems and formulas."""

from __future__ import annotations

from creases_reproduction.claim import Claim
from creases_reproduction.judges import judge_deviations
from creases_reproduction.splines import facts, judges, surface

_GAN = (
    "trained for 400000 to 2400000 steps on data and with code that are not given; only pictures "
    "are printed, no number to compare with"
)

CLAIMS = [
    Claim(
        "splines/conversion",
        "slides 'A simple neural net example', 'Recasting'",
        (
            "A shallow network of one input is a continuous piecewise-linear spline: beta = -b / w, mu = "
            "w v, s = sign w, and pieces m_p x + gamma_p."
        ),
        "",
        facts.conversion,
        judges.judge_conversion,
        misprints=("splines/delta-slope",),
    ),
    Claim(
        "splines/multivariate",
        "slide 'Multivariate Spline Parametrization'",
        "With several inputs: delta-slope v |w|, unit normal w / |w|, offset -b / |w|.",
        "",
        facts.multivariate,
        judge_deviations(1e-12, "deviation"),
        misprints=("splines/delta-slope",),
    ),
    Claim(
        "splines/theorem-1",
        "Theorem 1, continuous basis expansion",
        "As H goes to infinity the network is an integral over a random measure that is a Gaussian process.",
        "",
        facts.gaussian_limit,
        judges.judge_gaussian,
    ),
    Claim(
        "splines/density-joint",
        "slide 'Joint + Conditional Density'",
        "Of Gaussian weights: mu given beta is Laplace(0, sb sv sw / sqrt(sb^2 + sw^2 beta^2)).",
        "",
        facts.densities,
        judges.judge_density("given"),
    ),
    Claim(
        "splines/density-mu",
        "slide 'Marginal Density of Delta-Slopes'",
        "mu has the density K0(|mu| / (sv sw)) / (pi sv sw).",
        "",
        facts.densities,
        judges.judge_density("delta-slopes"),
        misprints=("splines/meijer",),
    ),
    Claim(
        "splines/density-beta",
        "slide 'Marginal Density of Breakpoints'",
        "beta is Cauchy(0, sb / sw).",
        "",
        facts.densities,
        judges.judge_density("breakpoints"),
    ),
    Claim(
        "splines/theorem-2",
        "Theorem 2, initial roughness",
        (
            "Mean roughness 4 (He) and 4 H / (H + 1)^2 (Glorot), tails at most 1 / (1 + l^2 H / 128) and "
            "1 / (1 + l^2 (H + 1)^4 / (128 H))."
        ),
        "4; 4 H / (H + 1)^2",
        facts.initial_roughness,
        judges.judge_roughness,
        judges.roughness_rows,
    ),
    Claim(
        "splines/theorem-3",
        "Theorem 3, degeneracies in the loss surface",
        "Where every piece is the least-squares line of its data, the loss has a critical point.",
        "",
        surface.critical_points,
        judges.judge_critical,
    ),
    Claim(
        "splines/theorem-4a",
        "Theorem 4 (a) and the count",
        "A lonely partition has a global minimum of loss 0; there are C(H + 1, N) of them.",
        "",
        facts.lonely_partitions,
        judges.judge_lonely,
    ),
    Claim(
        "splines/theorem-4b",
        "Theorem 4 (b)",
        (
            "With H uniformly spaced breakpoints and N uniform data the partition is lonely with "
            "probability 1 - exp(-N^2 / (H + 1))."
        ),
        "1 - exp(-N^2 / (H + 1))",
        facts.lonely_probability,
        judges.judge_probability,
        judges.probability_rows,
        misprints=("splines/theorem-4",),
    ),
    Claim(
        "splines/hessian-gram",
        "slide 'Hessian of the Loss and Degenerate Directions'",
        "At critical points the Hessian is the Gram matrix of {v x, w x + b, v} and 1, positive semi-definite.",
        "",
        surface.critical_points,
        judges.judge_gram,
        misprints=("splines/psd",),
    ),
    Claim(
        "splines/hessian-definite",
        "slide 'Properties of Loss Hessian'",
        "The Hessian is positive definite but for five kinds of degenerate points.",
        "",
        surface.critical_points,
        judges.judge_definite,
        misprints=("splines/hessian",),
    ),
    Claim(
        "splines/hessian-types",
        "slide 'Critical Points fall into 6 types'",
        "Shared patterns, units active on all, on no or on one datum, and zero weights add zero eigenvalues.",
        "",
        surface.degenerate_types,
        judges.judge_types,
        misprints=("splines/b-zero", "splines/v-zero", "splines/types"),
    ),
    Claim(
        "splines/hessian-full",
        "extra slides, gradients and Hessian",
        "Gradient and full Hessian of the loss in closed form.",
        "",
        surface.derivatives,
        judges.judge_derivatives,
    ),
    Claim(
        "splines/theorem-5",
        "Theorem 5, equations (4) and (5)",
        "Breakpoints and delta-slopes move by beta' = (v / w)(r1 + beta rx) and mu' = -(v^2 + w^2) rx - w b r1.",
        "",
        surface.derivatives,
        judges.judge_velocities,
        misprints=("splines/theorem-5", "splines/residual-sign"),
    ),
    Claim(
        "splines/ntk",
        "slide 'Dynamical Laws for the Function'",
        "The function's values move by the residuals weighted with the similarity H' + G, the neural tangent kernel.",
        "",
        surface.derivatives,
        judge_deviations(1e-9, "function"),
    ),
    Claim(
        "splines/definition-1",
        "Definition 1, breakpoints of deep networks",
        "A breakpoint is active exactly where the network is not differentiable, but for degenerate ones that cancel.",
        "",
        facts.active_breakpoints,
        judges.judge_active,
        misprints=("splines/definition-1",),
    ),
    Claim(
        "splines/theorem-3-slice",
        "B.6, Theorem 3 (Figure 2)",
        (
            "The loss as a function of one breakpoint is a piecewise quadratic with knots at the data, "
            "of types I, II and III; it is a piecewise quadratic in (beta, mu)."
        ),
        "",
        surface.loss_slices,
        judges.judge_slices,
        misprints=("splines/quadratic", "splines/curvature"),
    ),
    Claim(
        "splines/theorem-6",
        "Theorem 6",
        "Gradient flow on mu from 0 with breakpoints held ends at the interpolant of least norm.",
        "",
        facts.least_norm,
        judges.judge_least_norm,
    ),
    Claim(
        "splines/kernel-sketch",
        "slide 'Intuitive Proof Sketch'",
        "In a gap between data the learned curvature is affine in x, so the function is a piecewise cubic.",
        "",
        facts.affine_in_gaps,
        judge_deviations(1e-9, "deviation"),
    ),
    Claim(
        "splines/responses",
        "Corollaries 4 and 5, Lemmas 3 and 6 (D = 1)",
        (
            "The density of outgoing weights is f' for steps, f'' for ReLU, a fractional derivative for "
            "power ReLU, a sum of shifted f'' for saturating ReLU."
        ),
        "",
        facts.responses,
        judges.judge_responses,
        judges.response_curves,
        misprints=("splines/relu-squared", "splines/right-sided"),
    ),
    Claim(
        "splines/activations",
        "slides 'For General Non-Decreasing Activation Functions'",
        "The response sets the implicit regularisation: steps, ReLU and ReLU^2 end at smoother and smoother functions.",
        "pictures for lambda = 1, 1.25, 2, 4",
        facts.natural_splines,
        judges.judge_splines,
        misprints=("splines/relu-squared",),
    ),
    Claim(
        "splines/radon",
        "Theorem 2, Corollaries 4 and 5, Lemmas 3 and 6 (D > 1)",
        "In several dimensions the density is an inverse dual Radon transform.",
        "",
        None,
        cannot=(
            "stated 'under certain (strong) assumptions' that the slides do not give; in one dimension "
            "see splines/responses"
        ),
    ),
    Claim(
        "splines/directions",
        "slide 'Random vs. Adversarial Directions'",
        "Breakpoints along random and along adversarial directions move differently in training.",
        "pictures",
        None,
        cannot="network, data and directions are not given; only pictures are printed",
    ),
    Claim(
        "splines/gan-simgd",
        "slides 'Learning Dynamics in GANs', SimGD and Follow-the-Ridge",
        "Implicit regularisation makes a generator miss modes; a minimax algorithm helps.",
        "pictures",
        None,
        cannot=_GAN,
    ),
    Claim(
        "splines/gan-preconditioner",
        "slides 'Learning Dynamics in GANs', preconditioner",
        "A preconditioner makes the regularisation adaptive and covers more modes.",
        "pictures",
        None,
        cannot=_GAN,
    ),
    Claim(
        "splines/fourier",
        "last slide",
        "Implicit Fourier regularisation is responsible for high-frequency low-amplitude adversarial attacks.",
        "",
        None,
        cannot="a heading without formula, experiment or number",
    ),
    Claim(
        "splines/neurons",
        "slides on neuroscience",
        "Saturating responses and cell types shape what a neuronal network represents.",
        "",
        None,
        cannot="an outlook; nothing is stated that could be computed",
    ),
]
