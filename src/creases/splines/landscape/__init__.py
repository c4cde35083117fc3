"""The loss around a network: Hessian, degeneracies, critical points."""
