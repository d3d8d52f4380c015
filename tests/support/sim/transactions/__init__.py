"""Exactly once: applications that consume, transform and produce in transactions while everything goes wrong."""
