"""`argosy explain`: why an object or a field is as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from argosy.cli.options import (
    cache_dir,
    cluster_options,
    directory_option,
    env_option,
    mirror_option,
    output_option,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("explain")
@click.argument("asked", metavar="KIND/NAME[:FIELD.PATH]")
@click.argument("field", metavar="[:FIELD.PATH]", required=False, default="")
@click.option("-n", "--namespace", metavar="NS", help="The object's namespace.")
@directory_option
@env_option
@mirror_option
@click.option("--live", is_flag=True, help="Also say who wrote it in the cluster, and when.")
@cluster_options
@output_option
def command(
    asked: str,
    field: str,
    namespace: str | None,
    directory: Path,
    env: str | None,
    mirror: Path | None,
    live: bool,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
) -> int:
    """Say why an object, or one field of it, is as it is.

    Names the app and why it is in, the file and line upstream where the object was written, and
    every patch, transform and line of configuration that changed it on its way here.

    \b
    Examples:
      argosy explain deployment/ml-pipeline
      argosy explain deploy/ml-pipeline:spec.selector -n kubeflow
      argosy explain 'cm/workflow-controller-configmap:data.sso'
      argosy explain 'svc/ml-pipeline:metadata.labels.app.kubernetes.io/name'
      argosy explain --live deploy/katib-ui:spec.replicas
    """
    from argosy.platform.config import load_platform
    from argosy.platform.explain import explain
    from argosy.platform.explain_text import lines, to_dict
    from argosy.sources.choose import fetcher_for

    cache = cache_dir()
    if field:
        asked = f"{asked}:{field.removeprefix(':')}"
    found = explain(
        load_platform(directory, env),
        asked,
        namespace=namespace,
        cache=cache,
        environ=os.environ,
        fetcher=fetcher_for(mirror, cache=cache, env=os.environ, offline=True),
        live=live,
    )
    if live:
        from argosy.platform.explain_live import read_object, tell_live

        obj = read_object(found.id, kubeconfig=kubeconfig, context=context, environ=os.environ)
        tell_live(found, obj)
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(to_dict(found)), indent=2))
        return 0
    for line in lines(found):
        click.echo(line)
    return 0
