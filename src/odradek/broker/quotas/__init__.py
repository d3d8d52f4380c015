"""Quotas: how much clients use of a broker, and how long they wait when it is more than they may."""
