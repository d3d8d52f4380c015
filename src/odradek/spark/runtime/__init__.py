"""What Spark's processes run on: a Java, the Pythons that it starts, and what these share with a session."""
