"""Move breakpoints that do little to where most is missing."""
