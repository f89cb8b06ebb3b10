"""Assemble a platform: config, catalogue, apps, lock, render, check, diff, apply, explain."""
