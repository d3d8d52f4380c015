"""The metadata log on disk with a quorum of one: appending, committing, snapshots, the vote, formatting."""
