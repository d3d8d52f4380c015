"""Topics that brokers keep for themselves. Clients may read them, not write them."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
