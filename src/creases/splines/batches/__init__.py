"""Batches of networks with one input, trained together by gradient descent."""
