"""Generates pykb.api's built-in types from what a real API server serves: `python -m hack.builtin_types`."""
