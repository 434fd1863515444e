"""Kubernetes events, aggregated and limited as in client-go."""
