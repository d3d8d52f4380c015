"""The partitions of this broker: led, validated, moved between log directories."""
