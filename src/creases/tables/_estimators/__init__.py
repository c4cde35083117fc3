"""Estimators for tables that keep scikit-learn's conventions."""
