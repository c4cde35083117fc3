"""Tables that are part of scikit-learn: nothing is downloaded."""

from __future__ import annotations

from typing import Any

from creases.problems._problem import Problem


def iris(*, standardize: bool = False) -> Problem:
    """Load three species of iris, 150 flowers with 4 lengths each.

    Examples
    --------
    >>> iris().classes
    ('setosa', 'versicolor', 'virginica')
    """
    citation = "R. A. Fisher 1936, The use of multiple measurements in taxonomic problems"
    return _load("iris", "three iris species, from petal and sepal sizes", citation, standardize)


def wine(*, standardize: bool = False) -> Problem:
    """Load wines of three growers, 178 with 13 chemical measurements each.

    Examples
    --------
    >>> wine()
    <Problem wine: 178 x 13, 3 classes>
    """
    citation = "M. Forina et al. 1991, PARVUS; UCI Machine Learning Repository"
    return _load("wine", "three wine growers, from chemical analyses of their wines", citation, standardize)


def breast_cancer(*, standardize: bool = False) -> Problem:
    """Load malignant and benign tumours, 569 with 30 measurements of cell nuclei each.

    Examples
    --------
    >>> breast_cancer().classes
    ('malignant', 'benign')
    """
    citation = "W. H. Wolberg, W. N. Street & O. L. Mangasarian 1995, Breast Cancer Wisconsin (Diagnostic)"
    return _load(
        "breast_cancer", "malignant or benign tumours, from measurements of cell nuclei", citation, standardize
    )


def digits(*, standardize: bool = False) -> Problem:
    """Load handwritten digits, 1797 of 8 x 8 pixels with values 0 .. 16.

    Examples
    --------
    >>> digits()
    <Problem digits: 1797 x 64, 10 classes>
    """
    citation = "E. Alpaydin & C. Kaynak 1998, Optical Recognition of Handwritten Digits, test set"
    return _load("digits", "handwritten digits, 8 x 8 pixels", citation, standardize)


def diabetes(*, standardize: bool = False) -> Problem:
    """Load the progression of diabetes after a year, 442 patients with 10 measurements each: a regression.

    The measures are in their own units (scikit-learn's ``scaled=False``).

    Examples
    --------
    >>> diabetes()
    <Problem diabetes: 442 x 10, regression>
    """
    citation = "B. Efron, T. Hastie, I. Johnstone & R. Tibshirani 2004, Least Angle Regression"
    description = "progression of diabetes after one year, from ten measurements per patient"
    return _load("diabetes", description, citation, standardize, scaled=False)


def _load(name: str, description: str, citation: str, standardize: bool, **options: Any) -> Problem:
    from sklearn import datasets  # slow to import, and most problems do without

    bunch = getattr(datasets, f"load_{name}")(**options)
    problem = Problem(
        name=name,
        X=bunch.data,
        y=bunch.target,
        features=tuple(str(feature) for feature in bunch.feature_names),
        classes=tuple(str(c) for c in bunch.target_names) if "target_names" in bunch else None,
        description=description,
        citation=citation,
    )
    return problem.standardized() if standardize else problem
