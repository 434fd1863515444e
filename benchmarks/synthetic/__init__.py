"""Packages of made-up kinds, the same ones in Go and in Python, as large as asked."""
