"""Leader election by a lease."""
