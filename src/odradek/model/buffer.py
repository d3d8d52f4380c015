"""Bytes in memory, in whichever type they come."""

Buffer = bytes | bytearray | memoryview
