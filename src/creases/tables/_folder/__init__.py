"""Runs on disk: settings, files, and reading them back."""
