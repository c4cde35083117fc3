"""Statistics of a partition, and its agreement with the network it was computed from."""

from creases.regions.diagnostics._partitions import PartitionSummary, summarize_partition, verify_partition

__all__ = ["PartitionSummary", "summarize_partition", "verify_partition"]
