"""Values shared by every layer: kinds of numbers, error codes, time. Pure: nothing here does I/O."""
