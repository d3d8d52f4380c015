"""Compaction: of each key the last record stays. Closed segments in, new files out; the owner of the log swaps them."""
