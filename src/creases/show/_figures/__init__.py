"""The figures, a file for each kind; the door is :mod:`creases.show`."""
