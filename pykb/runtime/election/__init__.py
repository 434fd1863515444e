"""Leader election by a lease, and what holds back the work of one who has lost it."""
