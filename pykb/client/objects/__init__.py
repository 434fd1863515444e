"""Brings objects to their desired state: create, apply, own, release, delete."""
