"""Bringing objects to what is wanted: create, apply, own, release, delete."""
