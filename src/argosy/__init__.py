"""argosy: assemble, fit, share, test and debug a Kubeflow platform."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
