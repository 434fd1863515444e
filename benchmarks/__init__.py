"""Benchmarks: each compares with a peer in the same run and prints ratios; none of them passes or fails."""
