"""Rebuilds the projects of testdata/."""
