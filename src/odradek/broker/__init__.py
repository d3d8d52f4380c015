"""One node's service: requests dispatched to handlers, partitions, waiting fetches."""
