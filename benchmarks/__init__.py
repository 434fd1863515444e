"""Benchmarks. Each compares pykb with a peer in the same run and prints ratios. They do not pass or fail."""
