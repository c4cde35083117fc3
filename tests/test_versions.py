"""Versions for the accounts of results."""

import platform

from creases._versions import version, versions


def test_a_package_that_is_not_installed_is_told_so_and_stops_nothing():
    assert version("no-such-package-of-anyone") == "not installed"


def test_versions_are_those_of_python_and_of_the_packages():
    reported = versions("numpy", "torch")
    assert list(reported) == ["python", "numpy", "torch"]
    assert reported["python"] == platform.python_version()
    assert reported["numpy"][0].isdigit()
