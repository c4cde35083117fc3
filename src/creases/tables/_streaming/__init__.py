"""Tables larger than memory: files read block by block, on several processes, for sums over rows."""
