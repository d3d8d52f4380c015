"""The coordinators as handlers reach them, their internal topics, and the markers that end transactions."""
