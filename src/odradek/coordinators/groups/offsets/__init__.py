"""What groups committed: by members, by clients without a group, and within transactions."""
