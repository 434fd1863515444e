"""Every tag of declarative validation."""
