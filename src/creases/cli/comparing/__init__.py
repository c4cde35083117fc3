"""What ``creases compare`` is made of."""
