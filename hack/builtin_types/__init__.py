"""Generates pykb.api's built-in types from the OpenAPI of a real API server: `python -m hack.builtin_types`."""
