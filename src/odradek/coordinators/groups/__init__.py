"""Groups of consumers and what they committed, on `__consumer_offsets`: both protocols, and offsets without members."""
