"""Transactions: who writes under which transactional id, to which partitions, how it ends. Pure, like the groups."""
