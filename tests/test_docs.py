"""The documentation: its pages are there, and what is drawn from the code is up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.cli.main import COMMANDS
from argosy.platform import config

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_architecture_is_drawn_from_the_code_as_it_is() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "draw_architecture.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0


def test_every_command_is_named_in_the_readme_or_its_pages() -> None:
    text = "".join(page.read_text() for page in PAGES)
    assert [name for name in COMMANDS if f"argosy {name}" not in text] == []


def test_every_key_of_platform_yaml_is_explained() -> None:
    page = (ROOT / "docs" / "platform.md").read_text()
    structs = (config.Platform, config.Source, config.Apps, config.AddedApp, config.Waiver)
    keys = {key for struct in structs for key in struct.__struct_fields__}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


@pytest.mark.parametrize("part", ["a", "b", "c", "d"])
def test_every_requirement_is_shown_or_open(part: str) -> None:
    rows = re.findall(
        rf"^\| {part.upper()}(\d+) \| .+ \| \S+ \| (.+) \|$",
        (ROOT / "docs" / f"requirements-{part}.md").read_text(),
        re.MULTILINE,
    )
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    shown = [text for _, text in rows if not text.startswith("open: ")]
    assert [text for text in shown if not re.search(r"\]\([^)]+\)", text)] == []
    assert [name for text in shown for name in _tests_that_are_not_there(text)] == []


def _tests_that_are_not_there(shown: str) -> list[str]:
    """Return the tests that a row names and that none of the files linked in it has."""
    files = [ROOT / "docs" / link for link in re.findall(r"\]\((\S+?\.py)\)", shown)]
    text = "".join(file.read_text() for file in files)
    return [name for name in re.findall(r"`(test_\w+)`", shown) if f"def {name}(" not in text]
