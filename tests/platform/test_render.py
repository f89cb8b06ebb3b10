"""Rendering: what is built, what is reused, what is refused, and that a stop is healed."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from argosy import yaml
from argosy.errors import ArgosyError, OutsideError
from argosy.manifests import ObjectId
from argosy.platform.config import load_platform
from argosy.platform.hold import one_at_a_time
from argosy.platform.output import OutputError
from argosy.platform.render import RenderReport, plan_render, render
from argosy.platform.tree import TreeError, file_name, load_rendered
from argosy.platform.withheld import load_with_secrets
from platforms import DEPLOYMENT, add_app, write_files, write_platform

if TYPE_CHECKING:
    from pathlib import Path

Env = dict[str, str]


def deployment(name: str, namespace: str = "apps") -> str:
    return DEPLOYMENT.format(name=name, namespace=namespace)


@pytest.fixture
def two_apps(tmp_path: Path) -> Path:
    root = write_platform(
        tmp_path / "p", "{name: one, path: apps/one}", "{name: two, path: apps/two, needs: [one]}"
    )
    add_app(root, "one", a=deployment("a"), b=deployment("b"))
    add_app(root, "two", c=deployment("c"))
    return root


def run(root: Path, env: Env, tmp_path: Path, **options: object) -> RenderReport:
    return render(
        load_platform(root, options.pop("environment", None)),  # type: ignore[arg-type]
        cache=tmp_path / "cache",
        env=env,
        **options,  # type: ignore[arg-type]
    )


def tree(root: Path, env: str = "default") -> dict[str, bytes]:
    base = root / "rendered" / env
    return {str(p.relative_to(base)): p.read_bytes() for p in base.rglob("*") if p.is_file()}


def test_each_object_gets_a_file_named_by_what_it_is(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    report = run(two_apps, engines_env, tmp_path)
    assert sorted(tree(two_apps)) == [
        "index.json",
        "one/deployment.apps_apps_a.yaml",
        "one/deployment.apps_apps_b.yaml",
        "two/deployment.apps_apps_c.yaml",
    ]
    assert set(report.built) == {"one", "two"}
    assert report.objects == 3


def test_rendering_again_builds_nothing_and_touches_no_file(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    run(two_apps, engines_env, tmp_path)
    stamps = {p: p.stat().st_mtime_ns for p in (two_apps / "rendered").rglob("*")}
    report = run(two_apps, engines_env, tmp_path)
    assert report.built == {}
    assert report.reused == ("one", "two")
    assert {p: p.stat().st_mtime_ns for p in (two_apps / "rendered").rglob("*")} == stamps


def test_only_the_app_whose_input_changed_is_built(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    run(two_apps, engines_env, tmp_path)
    before = tree(two_apps)
    add_app(two_apps, "two", c=deployment("c").replace(":1.0", ":2.0"))
    assert set(run(two_apps, engines_env, tmp_path).built) == {"two"}
    after = tree(two_apps)
    assert {name for name in after if after[name] != before[name]} == {
        "two/deployment.apps_apps_c.yaml",
        "index.json",
    }


def test_the_bytes_do_not_depend_on_the_machine(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    other = tmp_path / "elsewhere" / "q"
    shutil.copytree(two_apps, other)
    run(two_apps, engines_env, tmp_path)
    run(other, {**engines_env, "LANG": "C", "TZ": "Asia/Tokyo"}, tmp_path / "x")
    assert tree(two_apps) == tree(other)


def test_a_rendered_file_that_was_edited_by_hand_is_rendered_anew(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    run(two_apps, engines_env, tmp_path)
    before = tree(two_apps)
    (two_apps / "rendered/default/one/deployment.apps_apps_a.yaml").write_text("spoilt")
    (two_apps / "rendered/default/two/deployment.apps_apps_c.yaml").unlink()
    assert set(run(two_apps, engines_env, tmp_path).built) == {"one", "two"}
    assert tree(two_apps) == before


def test_app_renders_these_and_leaves_the_others_as_they_were(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    run(two_apps, engines_env, tmp_path)
    add_app(two_apps, "one", a=deployment("a2"))
    add_app(two_apps, "two", c=deployment("c2"))
    assert set(run(two_apps, engines_env, tmp_path, apps=["two"]).built) == {"two"}
    assert "one/deployment.apps_apps_a.yaml" in tree(two_apps)
    assert "two/deployment.apps_apps_c2.yaml" in tree(two_apps)


def test_an_overlay_is_laid_over_the_app(tmp_path: Path, engines_env: Env) -> None:
    root = write_platform(
        tmp_path / "p", "{name: one, path: apps/one}", more="  overlays: {one: overlays/one}\n"
    )
    add_app(root, "one", a=deployment("a"))
    component = """
        apiVersion: kustomize.config.k8s.io/v1alpha1
        kind: Component
        images: [{name: example.com/a, newTag: "9"}]
        """
    write_files(root, {"overlays/one/kustomization.yaml": component})
    run(root, engines_env, tmp_path)
    assert b"example.com/a:9" in tree(root)["one/deployment.apps_apps_a.yaml"]
    (root / "overlays/one/kustomization.yaml").write_text(
        (root / "overlays/one/kustomization.yaml").read_text().replace('"9"', '"10"')
    )
    assert set(run(root, engines_env, tmp_path).built) == {"one"}
    assert b"example.com/a:10" in tree(root)["one/deployment.apps_apps_a.yaml"]


def test_plain_yaml_takes_an_overlay_and_a_namespace(tmp_path: Path, engines_env: Env) -> None:
    root = write_platform(
        tmp_path / "p",
        "{name: plain, path: yaml, namespace: team}",
        "{name: laid, path: yaml2}",
        more="  overlays: {laid: overlays/laid}\n",
    )
    objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: b}\n"
    role = "kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: r}\n"
    write_files(
        root,
        {
            "yaml/a.yaml": objects.replace("NAME", "a") + "---\n" + role,
            "yaml2/b.yaml": objects.replace("NAME", "b"),
            "overlays/laid/kustomization.yaml": "kind: Component\n"
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nnamespace: laid\n",
        },
    )
    run(root, engines_env, tmp_path)
    assert sorted(tree(root)) == [
        "index.json",
        "laid/configmap_laid_b.yaml",
        "plain/clusterrole.rbac.authorization.k8s.io__r.yaml",
        "plain/configmap_team_a.yaml",
    ]


def test_values_fill_placeholders_and_only_their_apps_are_built_anew(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    def values(host: str, other: str) -> None:
        text = (two_apps / "platform.yaml").read_text().split("values:")[0]
        (two_apps / "platform.yaml").write_text(f"{text}values: {{host: {host}, x: {other}}}\n")

    add_app(two_apps, "one", a=deployment("a").replace("example.com", "<<__host__>>"))
    values("one.example", "1")
    run(two_apps, engines_env, tmp_path)
    assert b"one.example/a:1.0" in tree(two_apps)["one/deployment.apps_apps_a.yaml"]
    values("two.example", "1")
    assert set(run(two_apps, engines_env, tmp_path).built) == {"one"}
    assert b"two.example/a:1.0" in tree(two_apps)["one/deployment.apps_apps_a.yaml"]
    values("two.example", "2")
    assert run(two_apps, engines_env, tmp_path).built == {}


def test_environments_have_trees_of_their_own(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    write_files(two_apps, {"envs/prod.yaml": "apps:\n  add: [{name: two, path: apps/one2}]\n"})
    add_app(two_apps, "one2", d=deployment("d"))
    run(two_apps, engines_env, tmp_path)
    run(two_apps, engines_env, tmp_path, environment="prod")
    assert "two/deployment.apps_apps_c.yaml" in tree(two_apps)
    assert "two/deployment.apps_apps_d.yaml" in tree(two_apps, "prod")


def test_secrets_with_data_never_enter_the_tree(tmp_path: Path, engines_env: Env) -> None:
    root = write_platform(tmp_path / "p", "{name: one, path: apps/one}")
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n}\n"
    add_app(root, "one", s=f"{secret}stringData: {{password: hunter2}}\n")
    report = run(root, engines_env, tmp_path)
    assert report.secrets == 1
    assert not any(b"hunter2" in content for content in tree(root).values())
    [kept] = [o for o in load_with_secrets(root, "default").objects() if o.id.kind == "Secret"]
    assert kept.object()["metadata"]["name"] == "s"
    assert (root / ".argosy/secrets/default").stat().st_mode & 0o077 == 0
    shutil.rmtree(root / ".argosy/secrets")
    with pytest.raises(TreeError, match="Secret n/s of app one is not on this machine"):
        load_with_secrets(root, "default")
    assert set(run(root, engines_env, tmp_path).built) == {"one"}


@pytest.mark.parametrize(
    ("apps", "sentence"),
    [
        (["{name: a, path: apps/one, needs: [b]}"], "app 'a' needs 'b', which is not an app"),
        (
            ["{name: a, path: x, needs: [b]}", "{name: b, path: x, needs: [a]}"],
            "apps need each other in a circle: a -> b -> a",
        ),
        (["{name: a, path: nowhere}"], "nowhere"),
        (["{name: a, path: ../out}"], "lies outside the platform's directory"),
    ],
)
def test_what_cannot_be_built_is_said_in_one_sentence(
    tmp_path: Path, engines_env: Env, apps: list[str], sentence: str
) -> None:
    root = write_platform(tmp_path / "p", *apps)
    add_app(root, "one", a=deployment("a"))
    with pytest.raises(ArgosyError) as caught:
        run(root, engines_env, tmp_path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (root / "rendered").exists()


def test_a_kustomization_that_fails_names_the_app_and_kustomizes_reason(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    run(two_apps, engines_env, tmp_path)
    before = tree(two_apps)
    patch = "resources: [c.yaml]\npatches: [{target: {kind: Deployment}, patch: 'a: ['}]\n"
    write_files(two_apps, {"apps/two/kustomization.yaml": patch})
    with pytest.raises(OutsideError) as caught:
        run(two_apps, engines_env, tmp_path)
    assert str(caught.value).startswith("two: kustomize failed:")
    assert str(tmp_path) not in str(caught.value)
    assert tree(two_apps) == before


def test_two_apps_with_one_object_are_refused(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    add_app(two_apps, "two", c=deployment("a"))
    with pytest.raises(OutputError, match="apps one and two both render"):
        run(two_apps, engines_env, tmp_path)


def test_a_second_render_at_the_same_time_is_refused(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    with one_at_a_time(two_apps), pytest.raises(OutsideError, match="another argosy is writing"):
        run(two_apps, engines_env, tmp_path)


def test_no_tree_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="run `argosy render --env prod`"):
        load_rendered(tmp_path, "prod")


def test_a_render_killed_at_any_point_is_healed_by_the_next(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    run(two_apps, engines_env, tmp_path)
    rng = random.Random(1)
    script = (
        "import os, sys; from pathlib import Path; "
        "from argosy.platform.config import load_platform; "
        "from argosy.platform.render import render; "
        "render(load_platform(Path(sys.argv[1])), cache=Path(sys.argv[2]), env=os.environ)"
    )
    for turn in range(12):
        changed = deployment("a").replace(":1.0", f":{turn}")
        add_app(two_apps, "one", a=changed, b=deployment("b"))
        before = tree(two_apps)
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(two_apps), str(tmp_path / "cache")],
            env={**engines_env, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=rng.uniform(0.15, 0.6))
        process.kill()
        process.wait()
        run(two_apps, engines_env, tmp_path)
        after = tree(two_apps)
        assert f"example.com/a:{turn}".encode() in after["one/deployment.apps_apps_a.yaml"]
        assert after.keys() == before.keys()
        assert not list((two_apps / "rendered").glob(".*"))


@pytest.mark.upstream
def test_a_release_renders_to_exactly_the_objects_of_upstreams_own_build(
    upstream: Path, tmp_path: Path, engines_env: Env
) -> None:
    from argosy.platform.catalogue import load_catalogue
    from argosy.platform.locking import lock_platform
    from argosy.sources.blobs import BlobStore
    from argosy.sources.fetch import Mirror

    root = tmp_path / "p"
    write_files(
        root,
        {
            "platform.yaml": "apiVersion: argosy.dev/v1\nkind: Platform\n"
            'metadata: {name: test}\nkubeflow: "26.03"\n'
        },
    )
    lock_platform(root, fetcher=Mirror(upstream), blobs=BlobStore(tmp_path / "cache"))
    report = run(root, engines_env, tmp_path)
    assert report.objects == load_catalogue("26.03").objects
    crds = [o for o in load_rendered(root, "default").objects() if o.id.kind.startswith("Custom")]
    assert len(crds) >= 60
    assert all(yaml.load(crd.text)["spec"]["versions"][0]["schema"] for crd in crds)
    assert run(root, engines_env, tmp_path).built == {}


def test_names_that_a_file_system_refuses_are_encoded_once() -> None:
    name = file_name(ObjectId("rbac.authorization.k8s.io", "ClusterRole", "", "system:Aggregate"))
    assert name == "clusterrole.rbac.authorization.k8s.io__system%3A%41ggregate.yaml"


def test_a_dry_run_says_what_would_be_built_and_why_and_writes_nothing(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    def planned() -> dict[str, str]:
        return plan_render(load_platform(two_apps), cache=tmp_path / "cache", env=engines_env)

    assert set(planned().values()) == {"it is not rendered yet"}
    assert not (two_apps / "rendered").exists()
    run(two_apps, engines_env, tmp_path)
    assert planned() == {}
    add_app(two_apps, "two", c=deployment("c").replace(":1.0", ":2.0"))
    (two_apps / "rendered/default/one/deployment.apps_apps_a.yaml").write_text("spoilt")
    assert planned() == {
        "one": "its rendered files have been changed",
        "two": "its inputs have changed",
    }
    text = (two_apps / "platform.yaml").read_text().replace("name: two", "name: three")
    (two_apps / "platform.yaml").write_text(text)
    assert planned()["two"].startswith("it goes")


def test_what_a_killed_render_left_beside_the_tree_goes_with_the_next(
    two_apps: Path, tmp_path: Path, engines_env: Env
) -> None:
    run(two_apps, engines_env, tmp_path)
    for name in (".default.old", ".default.new"):
        (two_apps / "rendered" / name / "one").mkdir(parents=True)
    assert run(two_apps, engines_env, tmp_path).built == {}
    assert [path.name for path in (two_apps / "rendered").iterdir()] == ["default"]
