"""The nearest input that a network decides otherwise: the parts behind :func:`creases.certify.nearest`."""
