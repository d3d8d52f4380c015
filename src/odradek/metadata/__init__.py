"""What the cluster's records say: an immutable image, deltas between images, and snapshots. Decides nothing."""
