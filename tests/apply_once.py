"""Apply a platform in a process of its own, so that a test can kill it: `python -m apply_once`.

Arguments: kubeconfig, platform's name, a YAML file of objects.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from apply_platforms import platform
from argosy.kube import KubeApi, load_kubeconfig
from argosy.platform.apply import Applying, prepare


async def main(kubeconfig: str, name: str, text: str) -> None:
    """Apply the objects of a YAML text and say how many were written."""
    async with KubeApi(load_kubeconfig(kubeconfig)) as api:
        prepared = await prepare(api, platform({"app": text}, name=name))
        _say("begin")
        report = await Applying(api, prepared, wait=False).run()
        _say(str(len(report.applied)))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3], Path(sys.argv[3]).read_text()))
