"""Schemas that are kept from the engine come back, or the app is built with them in place."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy import yaml
from argosy.platform.crds import SchemaStore, SchemaTouched, reaches_into_schemas

if TYPE_CHECKING:
    from pathlib import Path

FILLER = "\n".join(f"                field{i}: {{type: string}}" for i in range(200))


def crd(*, indent: int = 2, versions: int = 1) -> str:
    items = "\n".join(
        f"""  - name: v{n}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: |-
              a text with

              schema: in it
            properties:
{FILLER}
    served: true
    storage: {"true" if n == 0 else "false"}"""
        for n in range(versions)
    )
    if indent == 4:
        items = "\n".join(f"  {line}" if line else line for line in items.split("\n"))
    return f"""apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.acme.com
spec:
  group: acme.com
  names:
    kind: Widget
    plural: widgets
  scope: Namespaced
  versions:
{items}
"""


def as_engine(content: bytes) -> str:
    """Print a file as kustomize would: block style, list items not indented."""
    return yaml.dump_all(yaml.load_all(content))


@pytest.mark.parametrize("indent", [2, 4])
@pytest.mark.parametrize("versions", [1, 3])
def test_a_definition_comes_back_with_its_schemas(indent: int, versions: int) -> None:
    original = crd(indent=indent, versions=versions)
    store = SchemaStore()
    light = store.cut(original.encode())
    assert light is not None
    assert len(light) < len(original) / 4
    assert yaml.load(store.restore(as_engine(light))) == yaml.load(original)


def test_files_of_several_documents_keep_the_others(tmp_path: Path) -> None:
    text = (
        f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n---\n{crd()}---\n{crd(versions=2)}"
    )
    store = SchemaStore()
    light = store.cut(text.encode())
    assert light is not None
    assert yaml.load_all(store.restore(as_engine(light))) == yaml.load_all(text)


def test_what_stands_beside_a_marker_is_noticed() -> None:
    store = SchemaStore()
    light = yaml.load(store.cut(crd().encode()) or b"")
    light["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "patched in"
    with pytest.raises(SchemaTouched):
        store.restore(yaml.dump(light))


def test_a_changed_marker_is_noticed() -> None:
    store = SchemaStore()
    light = (store.cut(crd().encode()) or b"").decode()
    digest = light.split("x-argosy-schema: sha256-")[1][:64]
    with pytest.raises(SchemaTouched):
        store.restore(as_engine(light.replace(digest, "0" * 64).encode()))


def test_a_version_that_a_patch_removes_stays_removed() -> None:
    store = SchemaStore()
    light = yaml.load(store.cut(crd(versions=2).encode()) or b"")
    del light["spec"]["versions"][1]
    assert len(yaml.load(store.restore(yaml.dump(light)))["spec"]["versions"]) == 1


def test_a_patch_that_reaches_into_a_schema_is_found_by_its_text() -> None:
    patch = (
        b"- op: replace\n  path: /spec/versions/0/schema/openAPIV3Schema/required\n  value: []\n"
    )
    assert reaches_into_schemas(patch)
    assert not reaches_into_schemas(SchemaStore().cut(crd().encode()) or b"")
    assert not reaches_into_schemas(crd().encode())


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe CustomResourceDefinition openAPIV3Schema",
        crd().replace("  versions:\n", "  versions: &v\n").encode(),
        crd().replace("\n", "\r\n").encode(),
    ],
)
def test_unusual_files_are_left_to_the_engine(content: bytes) -> None:
    store = SchemaStore()
    light = store.cut(content)
    assert light is None or b"x-argosy-schema" not in light


@given(seed=st.integers(0, 10_000))
def test_damaged_definitions_never_come_back_changed(seed: int) -> None:
    rng = random.Random(seed)
    lines = crd(versions=2).split("\n")
    for _ in range(3):
        at = rng.randrange(len(lines))
        lines[at] = rng.choice(["", lines[at] + " ", "  " + lines[at], "# note", lines[at]])
    text = "\n".join(lines)
    try:
        expected = yaml.load_all(text)
    except yaml.YamlError:
        return
    store = SchemaStore()
    light = store.cut(text.encode())
    if light is None:
        return
    try:
        restored = store.restore(as_engine(light))
    except (SchemaTouched, yaml.YamlError):
        return
    assert yaml.load_all(restored) == expected


@pytest.mark.upstream
def test_every_definition_of_a_release_comes_back_exactly(upstream: Path) -> None:
    root = upstream / "github.com" / "kubeflow" / "manifests" / "26.03"
    cut = 0
    for file in root.rglob("*.yaml"):
        content = file.read_bytes()
        store = SchemaStore()
        light = store.cut(content)
        if light is None or light == content:
            continue
        cut += 1
        assert yaml.load_all(store.restore(as_engine(light))) == yaml.load_all(content), file
    assert cut >= 13
