"""How far a stream is, how far each of its batches goes, and what was lost on the way."""
