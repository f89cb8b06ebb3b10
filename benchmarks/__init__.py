"""Benchmarks: argosy beside its peers, as ratios in one run."""
