"""Growth methods: fold, TINY, GradMax, split and random units."""
