"""`argosy schema`: the JSON Schema of platform.yaml."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of platform.yaml, for editors.

    \b
    Example:
      argosy schema > platform.schema.json
      # then, at the top of platform.yaml:
      # yaml-language-server: $schema=platform.schema.json
    """
    import json

    from argosy.platform.config import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
