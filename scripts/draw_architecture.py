"""Draw docs/architecture.md's picture from the code: packages, what each is for, who imports whom.

scripts/env python scripts/draw_architecture.py          # rewrite the picture
scripts/env python scripts/draw_architecture.py --check  # exit code 1 when it is out of date
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "argosy"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- drawn from the code -->", "<!-- end of what is drawn -->"


def packages() -> dict[str, str]:
    """Return each package and single module of argosy with the first sentence of its docstring."""
    found = {}
    for place in sorted(SOURCE.iterdir()):
        file = place / "__init__.py" if place.is_dir() else place
        if (
            not file.is_file()
            or file.suffix != ".py"
            or (file.parent == SOURCE and file.stem[0] == "_")
        ):
            continue
        text = ast.get_docstring(ast.parse(file.read_text())) or ""
        found[place.stem] = text.split("\n\n")[0].replace("\n", " ")
    return found


def imports(names: set[str]) -> set[tuple[str, str]]:
    """Return who imports whom, between packages, imports for types alone included."""
    edges = set()
    for file in SOURCE.rglob("*.py"):
        own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            modules: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            for module in modules:
                parts = module.split(".")
                if parts[0] == "argosy" and len(parts) > 1 and parts[1] in names - {own}:
                    edges.add((own, parts[1]))
    return {(a, b) for a, b in edges if a in names}


def picture() -> str:
    """Return the Markdown between the two marks."""
    found = packages()
    everywhere = {"errors", "progress", "suggest"}
    edges = imports(set(found))
    direct = sorted((a, b) for a, b in edges if not {a, b} & everywhere)
    lines = [BEGIN, "", "```mermaid", "graph TD"]
    lines += [f"  {a} --> {b}" for a, b in direct]
    lines += ["```", "", "| package | what it does |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in found.items()]
    names = ", ".join(f"`{name}`" for name in sorted(everywhere))
    lines += [
        "",
        f"Everything may import {names}; they import nothing of argosy's but each other.",
        "",
    ]
    return "\n".join([*lines, END])


def main() -> int:
    """Rewrite the page, or compare it; return the exit code."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    new = before + picture() + after
    if "--check" in sys.argv:
        return int(new != text)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
