"""What must hold, a file for each promise."""
