"""`argosy check` as people run it: what it prints, and how it exits."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner, Result

from argosy.cli.check import command
from argosy.errors import UsageError
from argosy.manifests import split
from argosy.platform.tree import FORMAT, Index, IndexedApp, file_name, write_tree
from wrong_platforms import NAMESPACE, POD, SERVICE

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = POD.replace("containers:", "serviceAccountName: gone\n      containers:")
PLATFORM = 'apiVersion: argosy.dev/v1\nkind: Platform\nmetadata: {name: test}\nkubernetes: "1.35"\n'


def write(root: Path, *, more: str = "", kubernetes: str = "1.35", **apps: str) -> Path:
    """Write a platform and its rendered tree."""
    (root / "platform.yaml").write_text(PLATFORM + more)
    contents = {
        name: {file_name(one.id): one.text for one in split(text)} for name, text in apps.items()
    }
    indexed = {
        name: IndexedApp(
            needs=(),
            inputs="",
            files={file: hashlib.sha256(text.encode()).hexdigest() for file, text in files.items()},
            secrets=("team/login",) if name == "web" else (),
        )
        for name, files in contents.items()
    }
    index = Index(FORMAT, "test", "", kubernetes, {}, indexed)
    write_tree(root, "default", index, contents)
    return root


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        command, ["-C", str(root), *arguments], standalone_mode=False, catch_exceptions=False
    )


def test_a_sound_platform_passes_and_says_so(tmp_path: Path) -> None:
    result = run(write(tmp_path, base=NAMESPACE, web=POD + "---\n" + SERVICE))
    assert result.return_value == 0
    assert "1 info; 0 known defects" in result.output  # the Secret beside the tree
    assert "error" not in result.output


def test_a_new_error_fails_with_object_place_remedy_and_file(tmp_path: Path) -> None:
    result = run(write(tmp_path, base=NAMESPACE, web=BROKEN))
    assert result.return_value == 1
    assert "error ARG030 Deployment.apps team/web spec.template.spec.serviceAccountName" in (
        result.output
    )
    assert "There is no ServiceAccount team/gone".lower() in result.output.lower()
    assert "rendered/default/web/deployment.apps_team_web.yaml" in result.output


def test_a_waived_error_passes_and_is_shown_with_its_reason_when_asked(tmp_path: Path) -> None:
    waive = "checks: {waive: [{code: ARG030, object: Deployment team/web, reason: made by hand}]}\n"
    root = write(tmp_path, more=waive, base=NAMESPACE, web=BROKEN)
    short, long = run(root), run(root, "--all")
    assert (short.return_value, long.return_value) == (0, 0)
    assert "waived: 1 x ARG030" in short.output
    assert "why: made by hand" in long.output


def test_a_waiver_without_a_finding_is_shown_and_fails_only_strictly(tmp_path: Path) -> None:
    waive = "checks: {waive: [{code: ARG030, reason: gone}]}\n"
    root = write(tmp_path, more=waive, base=NAMESPACE, web=POD)
    assert "warning ARG090 Platform.argosy.dev test checks.waive[0]" in run(root).output
    assert run(root).return_value == 0
    assert run(root, "--strict").return_value == 1


def test_one_app_is_reported_on_and_the_others_still_count_as_there(tmp_path: Path) -> None:
    root = write(
        tmp_path, base=NAMESPACE, web=BROKEN, other=SERVICE.replace("name: web", "name: x")
    )
    assert run(root, "--app", "other").return_value == 0
    assert run(root, "--app", "web").return_value == 1


def test_scripts_get_json(tmp_path: Path) -> None:
    result = run(write(tmp_path, base=NAMESPACE, web=BROKEN), "-o", "json")
    shown = msgspec.json.decode(result.output)
    assert shown["failed"] is True
    assert [one["code"] for one in shown["new"]] == ["ARG030", "ARG071"]
    assert shown["known"] == shown["waived"] == []


@pytest.mark.parametrize(
    ("arguments", "kubernetes", "says"),
    [
        (["--app", "wbe"], "1.35", "no app 'wbe'; did you mean 'web'?"),
        (["--env", "prod"], "1.35", "envs/prod.yaml"),
        ([], "1.2", "no schema data for Kubernetes '1.2'; set `kubernetes:` to one of 1.35"),
    ],
)
def test_mistakes_get_one_sentence(
    tmp_path: Path, arguments: list[str], kubernetes: str, says: str
) -> None:
    root = write(tmp_path, kubernetes=kubernetes, base=NAMESPACE, web=POD)
    with pytest.raises(UsageError) as caught:
        run(root, *arguments)
    assert says in str(caught.value)


def test_a_platform_that_was_not_rendered_says_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "platform.yaml").write_text(PLATFORM)
    with pytest.raises(UsageError, match="run `argosy render`"):
        run(tmp_path)


def test_a_rendered_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    root = write(tmp_path, base=NAMESPACE, web=POD)
    file = root / "rendered/default/web/deployment.apps_team_web.yaml"
    file.write_text(POD + "  broken: [\n")
    with pytest.raises(UsageError, match=r"deployment\.apps_team_web\.yaml:\d+"):
        run(root)
