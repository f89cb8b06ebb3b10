"""Turn an engine's failure into one sentence: its own message, the app, the file.

Kustomize wraps a cause in every step that led to it and tells each entry's try as a file beside
its try as a folder; here the chain is cut down to the last folder and the cause.
"""

from __future__ import annotations

import re
import signal
from pathlib import Path

from argosy.sources.errors import EngineError
from argosy.sources.kustomization import FILE_NAMES

__all__ = ["explain", "told"]

# What kustomize says on stderr about files that build all the same.
_NOISE = re.compile(r"^(# Warning: |well-defined vars that were never replaced|Flag .* deprecated)")


def told(app: str) -> str:
    """Return how a message begins that is about an app."""
    return f"{app}: " if app else ""


def explain(command: str, code: int | None, errors: bytes, root: Path, app: str) -> EngineError:
    """Return an engine's failure as one sentence: its own message, the app, the file."""
    name = Path(command).name
    if code is not None and code < 0:
        more = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
        return EngineError(f"{told(app)}{name} was ended by {signal.Signals(-code).name}{more}")
    text = errors.decode(errors="replace")
    if _OUT_OF_MEMORY in text:
        return EngineError(
            f"{told(app)}{name} ran out of the memory that a build may take",
            hint="a file asks for more than it should; look for YAML anchors that use each other",
        )
    text = text.split("\ngoroutine ", 1)[0]  # what a crash prints behind its reason
    for prefix in dict.fromkeys((str(root), str(root.resolve()))):
        text = text.replace(f"{prefix}/", "").replace(f"'{prefix}'", "'.'")
    lines = [line.strip() for line in text.splitlines()]
    text = " ".join(line for line in lines if line and not _NOISE.match(line))
    text = _PREFIX.sub("", text).removesuffix('"' if 'err="' in text else "")
    folder, cause = _innermost(text)
    found = [one for one in FILE_NAMES if (root / folder / one).is_file()] if folder else []
    where = f"{folder}/{found[0]}" if found else folder
    return EngineError(
        f"{told(app)}{name} failed: {cause or f'exit code {code}'}", where=where or None
    )


_OUT_OF_MEMORY = "runtime: out of memory"  # Go's own words
_PREFIX = re.compile(r"^(Error: |error: |E\d{4} .*? err=\"?)")
# Kustomize tries each entry as a file first and as a folder second, and tells both tries.
_TRIED_AS_FILE = re.compile(
    r"accumulating resources: accumulation err='accumulating resources from '[^']*': "
    r"'[^']*' must resolve to a file': "
)
_STEP = re.compile(
    r"(?:recursed accumulation of path|couldn't make target for path|recursed merging from path)"
    r" '([^']*)': "
)
_TRIED_AS_FOLDER = re.compile(
    r"(?:accumulating resources: )?accumulation err='(.*)': must build at directory: .*"
)
_STEP_OF_FILE = re.compile(r"^(accumulating resources(?: from '[^']*')?: )+")


def _innermost(text: str) -> tuple[str, str]:
    """Return the folder and the cause at the end of kustomize's chain of steps."""
    text = _TRIED_AS_FILE.sub("", text)
    if 'accumulateDirectory: "' in text:
        text = text.replace('accumulateDirectory: "', "").rstrip('"').replace('\\"', '"')
    folder = ""
    for step in _STEP.finditer(text):
        folder = step.group(1)
    cause = text[text.rindex(f"'{folder}': ") + len(folder) + 4 :] if folder else text
    whole = _TRIED_AS_FOLDER.fullmatch(cause)
    cause = whole.group(1) if whole else cause
    return folder, _STEP_OF_FILE.sub("", cause)
