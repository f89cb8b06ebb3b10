"""A part of argosy is started beside a cluster, or refused in one sentence."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from argosy.dev import parts
from argosy.dev.errors import UnknownPart
from argosy.errors import UsageError


@pytest.fixture
def package(tmp_path):
    """Return a package with one part that has a program."""
    (tmp_path / "tenancy").mkdir()
    (tmp_path / "tenancy" / "__main__.py").write_text("")
    (tmp_path / "yaml").mkdir()
    return tmp_path


def test_a_part_is_started_as_a_module(package):
    assert parts.command("tenancy", package=package) == [sys.executable, "-m", "argosy.tenancy"]


def test_an_unknown_part_is_refused_with_those_there_are(package):
    with pytest.raises(UnknownPart, match=r"'tenency'.*started: tenancy did you mean 'tenancy'"):
        parts.command("tenency", package=package)


def test_without_any_part_that_is_said():
    with pytest.raises(UnknownPart, match="no part 'ci'"):
        parts.command("ci")


@pytest.mark.skipif(importlib.util.find_spec("debugpy") is not None, reason="debugpy is installed")
def test_a_debugger_port_without_debugpy_is_refused(package):
    with pytest.raises(UsageError, match="needs debugpy, which is not installed"):
        parts.command("tenancy", debug_port=5678, package=package)
