"""A module for each sample."""
