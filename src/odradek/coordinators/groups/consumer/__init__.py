"""Groups of the consumer protocol (KIP-848): members say what they want, the coordinator what they are to have."""
