"""Leader election by a lease, and a fence that stops writes after the lease was lost."""
