"""What ``creases sweep`` is made of."""
