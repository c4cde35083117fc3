"""From rows to a network: the linear model, growth from it, the decision threshold."""
