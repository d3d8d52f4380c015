"""Record batches of format v2 as views on bytes. Pure: bytes in, values and bytes out."""
