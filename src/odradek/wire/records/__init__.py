"""Stored records: those of the metadata log, of the coordinators' topics, and control records."""
