"""TINY: units that remove an expressivity bottleneck, in closed form."""
