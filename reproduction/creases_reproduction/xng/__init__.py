"""Claims of the XNG slides."""

#: Modules with a list ``CLAIMS``, in the order of the catalogue.
MODULES = ("claims",)
