"""One node and all kinds of clients, on a machine that fails in every way."""
