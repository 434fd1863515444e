"""Packages of synthetic kinds of any size, the same in Go and in Python."""
