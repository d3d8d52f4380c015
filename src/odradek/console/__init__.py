"""A page of live results, read through Kafka's protocol as any application would read them."""
