"""The registry of checks and what docs/checks.md says about it."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

from argosy.platform import check
from argosy.platform.check import CHECKS, SPECS

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "checks.md"


def test_codes_are_unique_and_in_order() -> None:
    codes = [spec.code for spec in SPECS]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"ARG\d{3}", code) for code in codes)
    assert codes == sorted(codes)


def test_every_module_with_a_spec_is_in_the_registry() -> None:
    modules = {
        module.name
        for module in pkgutil.iter_modules(check.__path__)
        if hasattr(getattr(check, module.name, None), "findings")
    }
    assert {one.__name__.rpartition(".")[2] for one in CHECKS} == modules


def test_the_document_describes_every_check_as_it_describes_itself() -> None:
    text = DOCUMENT.read_text()
    for spec in SPECS:
        cells = (spec.code, spec.severity.value, spec.title, spec.description)
        row = " | ".join(cell.replace("|", "\\|") for cell in cells)
        assert f"| {row} |" in text, f"run scripts/write_checks_table.py: {spec.code}"
    assert text.count("\n| ARG") == len(SPECS)
