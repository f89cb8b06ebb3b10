"""Secret values: made anew, kept in an ignored folder, never in the rendered tree.

The only package that sees a plaintext. `rules` is what the catalogue says of upstream's Secrets,
`generate` makes values by it (pure, given randomness), `store` keeps them on disk, `externalise`
takes Secrets out of what is rendered. Nothing here prints, logs or sends a value.
"""

from __future__ import annotations

__all__: list[str] = []
