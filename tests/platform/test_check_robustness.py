"""Whatever stands in the rendered tree, a check answers with findings and never with a crash."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argosy import yaml
from argosy.manifests import walk
from argosy.platform.check import find
from rendered_texts import rendered
from wrong_platforms import CRD, THING, WRONG, obj

DOCUMENTS: list[dict[str, Any]] = [
    one for text in (*WRONG.values(), CRD, CRD, THING) for one in yaml.load_all(text)
]
JUNK = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", "a/b:c", "$(X)", [], {}, [None], [[]], {"": 1}]
)


def replaced(obj: Any, steps: tuple[str | int, ...], value: Any) -> Any:
    changed = copy.deepcopy(obj)
    node = changed
    for step in steps[:-1]:
        node = node[step]
    node[steps[-1]] = value
    return changed


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Return a few objects, in each of which a value at any depth became something else."""
    chosen = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=1, max_size=6))
    texts = []
    for one in chosen:
        leaves = [steps for steps, _ in walk(one) if steps[0] not in {"apiVersion", "kind"}]
        steps = draw(st.sampled_from(leaves))
        cut = steps[: draw(st.integers(1, len(steps)))]
        keeps_identity = cut[0] != "metadata" or cut[1:2] not in {(), ("name",), ("namespace",)}
        texts.append(yaml.dump(replaced(one, cut, draw(JUNK)) if keeps_identity else one))
    return "---\n".join(texts)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_damaged_objects_never_crash_a_check(text: str) -> None:
    for finding in find(rendered(f"{text}---\n{THING}")):
        assert finding.message
        assert "\n" not in finding.path


@pytest.mark.parametrize("version", ["1.31", "1.35"])
def test_every_vendored_version_validates(version: str) -> None:
    text = obj("v1 Pod", "spec: {containers: 1}", namespace="default")
    found = find(rendered(text, kubernetes=version))
    assert [(one.code, one.path) for one in found] == [("ARG020", "spec.containers")]
