"""Write the table of checks in docs/checks.md from the checks themselves.

    python scripts/write_checks_table.py

Everything between the two markers is replaced; a test fails when the table is out of date.
"""

from __future__ import annotations

from pathlib import Path

from argosy.platform.check import SPECS

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "checks.md"
BEGIN, END = "<!-- table of checks: begin -->\n", "<!-- table of checks: end -->\n"


def table() -> str:
    """Return the table in Markdown."""
    rows = ["| code | severity | what is wrong | in detail |", "|---|---|---|---|"]
    for spec in sorted(SPECS):
        cells = (spec.code, spec.severity.value, spec.title, spec.description)
        escaped = (cell.replace("|", "\\|") for cell in cells)
        rows.append(f"| {' | '.join(escaped)} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Replace the table in the document."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    partial = DOCUMENT.with_suffix(".partial")
    partial.write_text(f"{before}{BEGIN}{table()}{END}{after}", encoding="utf-8")
    partial.replace(DOCUMENT)


if __name__ == "__main__":
    main()
