"""The programs that `benchmarks.runtime` runs side by side: one operator on pykb, one on plain kopf, one in Go."""
