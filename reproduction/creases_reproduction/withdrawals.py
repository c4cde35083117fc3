"""Corrections of the sources that were taken back: they do not hold, or are no corrections."""

from __future__ import annotations

from typing import NamedTuple


class Withdrawal(NamedTuple):
    """An entry that is no longer in the list of misprints, or a part of one that is no longer in it."""

    id: str
    place: str
    said: str  #: what was called wrong, and the correction
    why: str


WITHDRAWALS = [
    Withdrawal(
        "xng/slide-28",
        "slide 28",
        "the instance nearest to the centroid is to be the mis-predicted one nearest to it",
        "A choice of ours: how often the nearest instance is predicted right depends on the number of clusters.",
    ),
    Withdrawal(
        "xng/slide-29",
        "slide 29",
        "the new bias 0 is to be -w . x_f",
        "No contradiction: with b = 0 and w . x_f = 0, as printed, the crease passes through the origin and the fold "
        "point.",
    ),
    Withdrawal(
        "tiny/proposition-3.3",
        "Proposition 3.3, the eigenvalue",
        "lambda is to be lambda^2",
        "A matter of names: the generalised eigenproblem's eigenvalue is called lambda there.",
    ),
    Withdrawal(
        "linearity/equation-2.26",
        "eq. (2.26)",
        "k is to be at most the number of inputs",
        "Our own counterexample meets that; k must equal it. The entry now says so.",
    ),
    Withdrawal(
        "linearity/figure-6.18",
        "captions of Figures 6.18 and 6.19",
        "are to be exchanged",
        "Not proven: the figures themselves are not in the text.",
    ),
    Withdrawal(
        "linearity/equation-7.6",
        "(7.5) and (7.6)",
        "the largest coefficient is to be the largest magnitude",
        "A reading of the word, not an error.",
    ),
    Withdrawal(
        "splines/right-sided",
        "Lemma 3",
        "the right-sided fractional derivative is to be the left-sided one",
        "Both names are in use for the integral from minus infinity.",
    ),
    Withdrawal(
        "xng/slide-7",
        "slide 7",
        "GradMax's problem is to be over orthogonal columns",
        "The problem as printed is solved by the singular value decomposition, by copies of the first vector; that "
        "several vectors are taken is not on the slide.",
    ),
    Withdrawal(
        "xng/slide-8",
        "slides 7 and 8",
        "zero incoming weights of a ReLU get no gradient, so they must be small",
        'Not printed there: slide 8 says that GradMax "simply sets W_l^new as zeros", and not that it is for ReLU.',
    ),
    Withdrawal(
        "tiny/neurons",
        "Proposition 3.2",
        "the neurons are to be multiplied by sqrt(lambda_k) on both sides",
        'The proposition says "associated scaled weights"; the list before it gives their directions.',
    ),
    Withdrawal(
        "tiny/relu",
        "eq. (11)",
        "for ReLU and SELU the printed gain is too large",
        'Section 2.1: "We will assume that sigma_l is differentiable at 0", which neither is.',
    ),
    Withdrawal(
        "tiny/sign",
        "sections 2.3 and 3",
        "V_goal = eta grad is to be -eta grad, + in the change of the loss is to be -",
        "The minus is printed three times (section 2.2, section 2.3, and eq. (11) for the loss); elsewhere one "
        "character is missing, or another.",
    ),
    Withdrawal(
        "tiny/index",
        "(4) and (5)",
        "dW_l is to be dW_(l+1)",
        'A matter of names: the text says of dW_l that it is "standing for an update of the matrix W_{l+1}".',
    ),
    Withdrawal(
        "tiny/batch",
        "appendix C",
        "the size of the sample is not to be multiplied at every growth step",
        "Not proven: that the product explodes is no contradiction, as all images may be taken.",
    ),
    Withdrawal(
        "linearity/table-3.2",
        "Table 3.2",
        "rows 1 and 2 are the same solution, one must be another",
        "Not proven: the transcription may have repeated a row.",
    ),
    Withdrawal(
        "linearity/equation-5.2",
        "eq. (5.2)",
        "O(x^2) is to be O((x - x_0)^2)",
        'The text says so: "Note that this is a measure as x - x_0 shrinks".',
    ),
    Withdrawal(
        "splines/table-1",
        "Table 1",
        "1.1118 is to be .1118, probably",
        "Not proven: the transcription loses characters in the row above (.1032 ± 0404), and may have one too many "
        "here.",
    ),
    Withdrawal(
        "splines/delta-slope",
        "slides on the parametrisations",
        "the delta-slope w v is to be |w| v",
        "A convention: with the orientation s, which the parametrisation has, either sign tells the same.",
    ),
    Withdrawal(
        "splines/v-zero",
        "slide 'Critical Points fall into 6 types', type 5",
        "where v = 0 and the unit would be of use, w and b matter: it is a strict saddle",
        "No contradiction: at v = 0 the loss does not change with w and b, as printed; nothing is said of v itself.",
    ),
]
