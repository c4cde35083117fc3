"""Claims of the lecture that cannot be computed here."""

from __future__ import annotations

from creases_reproduction.claim import Claim

CLAIMS = [
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
