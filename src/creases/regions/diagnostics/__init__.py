"""Statistics of a partition, and its agreement with the network it was computed from."""

from creases.regions.diagnostics._summary import PartitionSummary, max_regions, summarize_partition
from creases.regions.diagnostics._verification import Verification, verify_partition

__all__ = ["PartitionSummary", "Verification", "max_regions", "summarize_partition", "verify_partition"]
