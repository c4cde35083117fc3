"""Claims of the XNG slides."""

#: Modules with a list ``CLAIMS``, in the order of the catalogue.
MODULES = ("background", "new_units", "fold_points", "broaden", "growth", "milestones")
