"""Numbers as printed and numbers that contradict, for the judges of each chapter."""
