"""Real manifests are read as kubectl reads them, and written so that it reads the same."""

from __future__ import annotations

from argosy.manifests import split
from argosy.yaml import dump, load


def test_real_manifests_are_read_and_written_as_kubectl_does(upstream, oracle):
    seen = 0
    for path in sorted((upstream / "github.com").rglob("*.yaml"))[::11]:
        for document in split(path.read_text(), file=str(path)):
            answer = oracle.ask(document.text)
            if not answer["strict"]:
                continue  # templates of charts, and files that kubectl refuses or warns of
            value = load(document.text, file=document.file, line=document.line)
            assert value == answer["value"], document
            assert oracle.ask(dump(value))["value"] == value, document
            seen += 1
    assert seen > 50
