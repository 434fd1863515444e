"""Types of one API group."""
