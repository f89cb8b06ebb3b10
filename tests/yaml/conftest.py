"""Go's reader of YAML, where Go is installed: the judge of what kubectl reads."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

MODULE = Path(__file__).parent / "oracle"


class Oracle:
    """Asks a running reader what a text means."""

    def __init__(self, binary: Path) -> None:
        self._process = subprocess.Popen(
            [str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, text: str) -> dict:
        """Return "value" or "error", "strict" (no duplicate keys) and "v3"."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the reader."""
        self._process.communicate(timeout=10)


@pytest.fixture(scope="session")
def oracle():
    """Build the reader into the cache and start it; skip where there is no Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go on PATH, so nothing can say what kubectl reads")
    sources = sorted(path for path in MODULE.iterdir() if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = Path(os.environ.get("ARGOSY_CACHE") or Path(home) / "argosy")
    binary = cache / "bin" / f"yaml-oracle-{digest}"
    if not binary.exists():
        binary.parent.mkdir(parents=True, exist_ok=True)
        fresh = binary.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [go, "build", "-buildvcs=false", "-o", str(fresh), "."], cwd=MODULE, check=True
        )
        fresh.replace(binary)
    reader = Oracle(binary)
    yield reader
    reader.close()
