"""The settings of a broker: their layers, what clients see of them, and which may change while it runs."""
