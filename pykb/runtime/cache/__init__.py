"""Caches: lists and watches keep the objects of a kind in memory for reads, and report events."""
