"""Growth beside torch's other tools: several ranks, DistributedDataParallel, torch.compile, autocast."""
