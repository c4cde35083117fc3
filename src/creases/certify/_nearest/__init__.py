"""The nearest input with a different decision: the parts behind :func:`creases.certify.nearest`."""
