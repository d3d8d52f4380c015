"""Decides on metadata records: a command and an image come in, records and a reply go out. Changes nothing."""
