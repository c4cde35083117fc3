"""Claims of the lecture that cannot be computed here."""

from __future__ import annotations

from creases_reproduction.claim import Claim

CLAIMS = [
    Claim(
        "splines/radon",
        "Theorem 2, Corollaries 4 and 5, Lemmas 3 and 6 (D > 1)",
        "In several dimensions the density is an inverse dual Radon transform.",
        cannot=(
            "stated 'under certain (strong) assumptions' that the slides do not give; in one dimension see "
            "splines/responses"
        ),
    ),
    Claim(
        "splines/directions",
        "slide 'Random vs. Adversarial Directions'",
        "Breakpoints along random and along adversarial directions move differently in training.",
        printed="pictures",
        cannot="network, data and directions are not given; only pictures are printed",
    ),
    Claim(
        "splines/fourier",
        "last slide",
        "Implicit Fourier regularisation is responsible for high-frequency low-amplitude adversarial attacks.",
        cannot="a heading without formula, experiment or number",
    ),
    Claim(
        "splines/neurons",
        "slides on neuroscience",
        "Saturating responses and cell types shape what a neuronal network represents.",
        cannot="an outlook; nothing is stated that could be computed",
    ),
]
