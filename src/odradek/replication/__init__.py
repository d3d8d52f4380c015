"""What the leader of a partition keeps of its replicas, and of those who wait for them."""
