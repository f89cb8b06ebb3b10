"""The catalogue says what upstream installs, no more and no less, and why in this order.

The apps of a release are built one by one and compared with upstream's own build of everything;
the needs are compared with what the built objects say of each other.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from argosy import yaml
from argosy.errors import UsageError
from argosy.platform.catalogue import (
    CatalogueApp,
    CatalogueError,
    Release,
    _decode,
    load_catalogue,
    releases,
)
from argosy.secrets import SecretName, Values, review
from argosy.secrets.values import values_of
from argosy.sources.engines import find_kustomize
from argosy.sources.errors import EngineError

# --- what the loader promises ------------------------------------------------------------------


def test_the_releases_are_listed_newest_first() -> None:
    assert releases() == ("26.03", "v1.11.0")


def test_an_unknown_release_is_a_users_mistake_and_names_the_nearest() -> None:
    with pytest.raises(CatalogueError, match=r"'26\.3'.*did you mean '26.03'") as caught:
        load_catalogue("26.3")
    assert isinstance(caught.value, UsageError)


def test_a_release_like_none_gets_the_whole_list() -> None:
    with pytest.raises(CatalogueError, match=r"known: 26\.03, v1\.11\.0"):
        load_catalogue("quux")


def test_a_mistyped_app_names_the_nearest_app_or_group() -> None:
    release = load_catalogue("26.03")
    with pytest.raises(CatalogueError, match="did you mean 'pipelines'"):
        release.app("pipelins")
    with pytest.raises(CatalogueError, match="did you mean 'notebooks'"):
        release.expand(["notebook"])


def test_a_variant_that_upstream_does_not_offer_is_refused() -> None:
    app = load_catalogue("26.03").app("oauth2-proxy")
    assert app.path_of() == app.path_of("m2m-dex-only")
    assert app.path_of("m2m-dex-and-eks").endswith("m2m-dex-and-eks")
    with pytest.raises(CatalogueError, match="did you mean 'm2m-dex-and-eks'"):
        app.path_of("m2m-dex-eks")
    with pytest.raises(CatalogueError, match="its variants: none"):
        load_catalogue("26.03").app("katib").path_of("big")


def test_what_an_app_needs_and_uses_comes_along_with_who_asked_and_why() -> None:
    along = load_catalogue("26.03").closure(["notebooks"])
    assert along["jupyter-web-app"] == ("", "")
    assert along["istio-crds"][0] in along
    assert {"istio", "oauth2-proxy", "dex", "profiles", "kubeflow-roles"} <= set(along)
    assert not {"katib", "pipelines", "kserve"} & set(along)


def test_what_is_there_already_stays_away_with_what_only_it_would_bring() -> None:
    release = load_catalogue("26.03")
    along = release.closure(["oauth2-proxy"], without=["dex", "istio"])
    assert "dex" not in along
    assert "istio" not in along
    assert "kubeflow-istio-resources" in along


@pytest.mark.parametrize("name", releases())
def test_every_text_for_people_is_a_sentence(name: str) -> None:
    release = load_catalogue(name)
    texts = [app.title for app in release.apps.values()]
    texts += [why for app in release.apps.values() for why in app.needs.values()]
    texts += [why for app in release.apps.values() for why in app.uses.values()]
    texts += [group.title for group in release.groups.values()]
    assert [text for text in texts if not text[0].isupper() or not text.endswith(".")] == []


def _broken(**apps: dict[str, Any]) -> dict[str, Any]:
    data = msgspec.to_builtins(load_catalogue("26.03"))
    return {**data, "apps": {n: {"title": "T.", "path": n, **a} for n, a in apps.items()}}


@pytest.mark.parametrize(
    ("apps", "message"),
    [
        ({"a": {"needs": {"b": "."}}, "b": {"needs": {"a": "."}}}, "a needs b"),
        ({"a": {"uses": {"ghost": "."}}}, "ghost"),
        ({"a": {"variants": {"x": {"title": "T.", "path": "y"}}, "variant": "x"}}, "default"),
    ],
)
def test_a_catalogue_that_contradicts_itself_does_not_load(
    apps: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        _decode({**_broken(**apps), "groups": {}})


# --- what upstream's objects say ---------------------------------------------------------------


class Key(NamedTuple):
    """A rendered object's identity, read off kustomize's layout without parsing."""

    group: str
    kind: str
    namespace: str
    name: str


def _key(text: str) -> Key:
    version = re.search(r"^apiVersion: (\S+)", text, re.MULTILINE)
    kind = re.search(r"^kind: (\S+)", text, re.MULTILINE)
    metadata = re.search(r"^metadata:\n((?: .*\n?)+)", text, re.MULTILINE)
    assert version
    assert kind
    assert metadata
    name = re.search(r"^  name: (.+)$", metadata[1], re.MULTILINE)
    namespace = re.search(r"^  namespace: (\S+)$", metadata[1], re.MULTILINE)
    assert name
    group = version[1].rpartition("/")[0]
    return Key(group, kind[1], namespace[1] if namespace else "", name[1].strip("'\""))


def _objects(stream: str) -> dict[Key, str]:
    texts = [text.strip("\n") for text in f"\n{stream}".split("\n---\n")]
    found = {_key(text): text for text in texts if text.strip()}
    assert len(found) == sum(1 for text in texts if text.strip()), "two objects share an identity"
    return found


class Built(NamedTuple):
    release: Release
    whole: dict[Key, str]
    apps: dict[str, dict[Key, str]]

    def owner(self) -> dict[Key, str]:
        return {key: name for name, objects in self.apps.items() for key in objects}


def _offline(upstream: Path, release: Release, place: Path) -> Path:
    """Copy the release to `place` with its two remote references turned into local paths."""
    sites = upstream / "github.com"
    tree = place / "kubeflow"
    shutil.copytree(sites / "kubeflow" / "manifests" / release.source.ref, tree)
    argo = place / "argo"
    shutil.copytree(sites / "argoproj" / "argo-workflows", argo)
    for file in tree.rglob("kustomization.yaml"):
        text = file.read_text()
        up = os.path.relpath(argo, file.parent)
        new = re.sub(
            r"https://github\.com/argoproj/argo-workflows/(\S+)\?ref=(\S+)", rf"{up}/\2/\1", text
        )
        asset = re.search(r"https://github\.com/(kubernetes-sigs/jobset/releases/\S+)", new)
        if asset and (sites / asset[1]).is_file():
            shutil.copy(sites / asset[1], file.parent / "jobset-release.yaml")
            new = new.replace(asset[0], "jobset-release.yaml")
        if new != text:
            file.write_text(new)
    return tree


def _wrapper(tree: Path, app: CatalogueApp) -> Path:
    place = tree / ".apps" / app.name
    place.mkdir(parents=True)
    patches = [{"target": p.target, "patch": p.patch, "options": p.options} for p in app.patches]
    content = {
        "resources": [f"../../{app.path}"],
        "components": [f"../../{component}" for component in app.components],
        "patches": patches,
    }
    (place / "kustomization.yaml").write_text(yaml.dump(content))
    return place


@pytest.fixture(scope="module", params=releases())
def built(
    request: pytest.FixtureRequest, upstream: Path, tmp_path_factory: pytest.TempPathFactory
) -> Built:
    try:
        engine = find_kustomize(env=os.environ, cache=Path.home() / ".cache" / "argosy")
    except EngineError as error:
        pytest.skip(f"no kustomize: {error}")
    release = load_catalogue(request.param)
    tree = _offline(upstream, release, tmp_path_factory.mktemp("tree"))

    def build(place: Path) -> dict[Key, str]:
        verb = ["build"] if engine.name == "kustomize" else []  # kubectl's own takes none
        run = subprocess.run(
            [*engine.command, *verb, str(place)], check=True, capture_output=True, text=True
        )
        return _objects(run.stdout)

    apps = [release.apps[name] for name in release.default_apps()]
    with ThreadPoolExecutor(2) as pool:
        whole = pool.submit(build, tree / release.whole)
        parts = list(pool.map(build, [_wrapper(tree, app) for app in apps]))
    return Built(release, whole.result(), dict(zip(release.default_apps(), parts, strict=True)))


PROFILE = Key("kubeflow.org", "Profile", "", "$(profile-name)")
MENDED = Key("kubeflow.org", "Profile", "", "kubeflow-user-example-com")


@pytest.mark.upstream
def test_the_apps_make_exactly_the_objects_of_upstreams_own_build(built: Built) -> None:
    made = [key for objects in built.apps.values() for key in objects]
    assert len(made) == len(set(made)), "two apps make one object"
    assert len(made) == built.release.objects
    mended = {PROFILE: MENDED} if built.release.release == "v1.11.0" else {}
    assert set(made) == {mended.get(key, key) for key in built.whole}


@pytest.mark.upstream
def test_what_an_app_brings_is_what_it_defines_and_where_it_lives(built: Built) -> None:
    for name, objects in built.apps.items():
        brings = built.release.apps[name].brings
        defined = set()
        for key, text in objects.items():
            if key.kind == "CustomResourceDefinition":
                group = re.search(r"^  group: (\S+)$", text, re.MULTILINE)
                kind = re.search(r"^    kind: (\S+)$", text, re.MULTILINE)
                assert group
                assert kind
                defined.add(f"{kind[1]}.{group[1]}")
        assert set(brings.kinds) == defined, name
        lives = {
            key.namespace or key.name for key in objects if key.namespace or key[1] == "Namespace"
        }
        assert set(brings.namespaces) <= lives, name


@pytest.mark.upstream
def test_contents_differ_only_where_upstreams_single_build_leaks_a_variable(built: Built) -> None:
    """JobSet's CRD names a certificate by placeholders that upstream never fills in.

    In upstream's single build the `vars` of another app, pvcviewer-controller, fill them with its
    own certificate, which is wrong: JobSet's webhook does not serve with it.
    """
    differences = {
        (key, old, new)
        for objects in built.apps.values()
        for key, text in objects.items()
        if key != MENDED or MENDED in built.whole
        for old, new in _changed_lines(built.whole[key], text)
    }
    crd = Key("apiextensions.k8s.io", "CustomResourceDefinition", "", "jobsets.jobset.x-k8s.io")
    annotation = "    cert-manager.io/inject-ca-from: "
    leaked = f"{annotation}kubeflow/pvcviewer-serving-cert"
    placeholder = f"{annotation}$(CERTIFICATE_NAMESPACE)/$(CERTIFICATE_NAME)"
    assert differences == {(crd, leaked, placeholder)}


def _changed_lines(old: str, new: str) -> list[tuple[str, str]]:
    before, after = old.splitlines(), new.splitlines()
    assert len(before) == len(after)
    return [(a, b) for a, b in zip(before, after, strict=True) if a != b]


@pytest.mark.upstream
def test_the_profile_of_v1_11_gets_the_name_that_upstream_meant(built: Built) -> None:
    profile = yaml.load(built.apps["user-namespace"][MENDED])
    assert profile["spec"]["owner"] == {"kind": "User", "name": "user@example.com"}


# --- the needs ---------------------------------------------------------------------------------

# What no object says: a process looks for it when it starts.
KNOWN_FROM_CODE = {
    ("oauth2-proxy", "dex"),  # the address stands in a file in a ConfigMap
    ("kserve", "knative-serving"),  # the controller's default deployment mode
}


class Evidence:
    """Which app must be there before which, as far as the objects say."""

    def __init__(self, built: Built) -> None:
        self.built = built
        self.owner = built.owner()
        self.kinds: dict[tuple[str, str], str] = {}
        self.namespaces: dict[str, tuple[str, dict[str, str]]] = {}
        self.hooks: list[tuple[str, dict[str, Any]]] = []
        self.parsed: list[tuple[str, dict[str, Any]]] = []
        for name, objects in built.apps.items():
            for key, text in objects.items():
                self._read(name, key, text)

    def _read(self, name: str, key: Key, text: str) -> None:
        if key.kind == "CustomResourceDefinition":
            group = re.search(r"^  group: (\S+)", text, re.MULTILINE)
            kind = re.search(r"^    kind: (\S+)", text, re.MULTILINE)
            assert group
            assert kind
            self.kinds[group[1], kind[1]] = name
            return
        obj = yaml.load(text)
        self.parsed.append((name, obj))
        if key.kind == "Namespace":
            labels = {"kubernetes.io/metadata.name": key.name, **obj["metadata"].get("labels", {})}
            self.namespaces[key.name] = (name, labels)
        if key.kind.endswith("WebhookConfiguration"):
            self.hooks += [(name, hook) for hook in obj["webhooks"]]

    def pairs(self) -> set[tuple[str, str]]:
        found = {(name, other) for name, obj in self.parsed for other in self._needs(obj)}
        return {(name, other) for name, other in found if name != other}

    def _needs(self, obj: dict[str, Any]) -> set[str]:
        group, _, _ = obj["apiVersion"].rpartition("/")
        namespace = obj["metadata"].get("namespace", "")
        found = {self.kinds.get((group, obj["kind"]), "")}
        found.add(self.namespaces.get(namespace, ("", {}))[0])
        found |= self._webhooks(group, obj["kind"], namespace, obj["metadata"].get("labels", {}))
        if obj["kind"] in {"Deployment", "StatefulSet", "DaemonSet"}:
            template = obj["spec"]["template"]
            found |= self._webhooks("", "Pod", namespace, template["metadata"].get("labels", {}))
            found |= {
                self.owner.get(Key("", "ConfigMap", namespace, volume["configMap"]["name"]), "")
                for volume in template["spec"].get("volumes", [])
                if "configMap" in volume
            }
        if obj["kind"] == "VirtualService":
            found |= {self._gateway(namespace, g) for g in obj["spec"].get("gateways", [])}
        if obj["kind"] == "Gateway":
            found |= {self._selected(obj["spec"]["selector"])}
        if obj["kind"] == "AuthorizationPolicy" and "provider" in obj["spec"]:
            found.add("istio")
        return found - {""}

    def _gateway(self, namespace: str, name: str) -> str:
        where, _, short = name.rpartition("/")
        return self.owner.get(Key("networking.istio.io", "Gateway", where or namespace, short), "")

    def _selected(self, selector: dict[str, str]) -> str:
        for name, obj in self.parsed:
            if obj["kind"] == "Deployment":
                labels = obj["spec"]["template"]["metadata"].get("labels", {})
                if selector.items() <= labels.items():
                    return name
        return ""

    def _webhooks(
        self, group: str, kind: str, namespace: str, labels: dict[str, str] | None
    ) -> set[str]:
        scope = self.namespaces.get(namespace, ("", {}))[1]
        plurals = {kind.lower() + "s", kind.lower(), kind.lower()[:-1] + "ies", "*"}
        return {
            name
            for name, hook in self.hooks
            if hook.get("failurePolicy", "Fail") == "Fail"
            and _matches(hook.get("namespaceSelector"), scope)
            and _matches(hook.get("objectSelector"), labels or {})
            and any(
                {group, "*"} & set(rule["apiGroups"])
                and plurals & set(rule["resources"])
                and {"CREATE", "*"} & set(rule["operations"])
                for rule in hook.get("rules", [])
            )
        }


def _matches(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    selector = selector or {}
    if not selector.get("matchLabels", {}).items() <= labels.items():
        return False
    for term in selector.get("matchExpressions", []):
        value, values = labels.get(term["key"]), term.get("values", [])
        holds = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[term["operator"]]
        if not holds:
            return False
    return True


@pytest.mark.upstream
def test_every_need_stands_in_the_objects_and_every_such_fact_is_a_need(built: Built) -> None:
    declared = {(name, need) for name in built.apps for need in built.release.apps[name].needs}
    evident = Evidence(built).pairs()
    assert {f"{a} -> {b}" for a, b in evident - declared} == set(), "not declared"
    assert {f"{a} -> {b}" for a, b in declared - evident - KNOWN_FROM_CODE} == set(), "no evidence"


@pytest.mark.upstream
def test_every_secret_with_data_has_a_rule_for_each_of_its_keys(built: Built) -> None:
    for name, found in _filled(built).items():
        rules = built.release.apps[name].secrets
        for secret, values in found.items():
            assert [set(rule.keys) for rule in rules if rule.covers(*secret)] == [set(values)]
        assert len(rules) == len(found), f"{name}: a rule speaks of no Secret"


@pytest.mark.upstream
def test_every_public_value_is_recognised_and_nothing_else_is_public(built: Built) -> None:
    for name, found in _filled(built).items():
        rules = built.release.apps[name].secrets
        public = {(left.secret, left.key) for left in review(rules, found)}
        names = {"OIDC_CLIENT_ID", "client-id", "accesskey", "username"}
        assert public == {(secret, k) for secret, v in found.items() for k in v if k not in names}


def _filled(built: Built) -> dict[str, dict[SecretName, Values]]:
    secrets = {
        name: [yaml.load(text) for key, text in objects.items() if key.kind == "Secret"]
        for name, objects in built.apps.items()
    }
    return {
        name: {SecretName(*_place(s)): values for s in found if (values := values_of(s))}
        for name, found in secrets.items()
    }


def _place(secret: dict[str, Any]) -> tuple[str, str]:
    return secret["metadata"]["namespace"], secret["metadata"]["name"]


# --- the page for people -----------------------------------------------------------------------


@pytest.mark.parametrize("name", releases())
def test_the_page_names_every_release_group_variant_and_secret(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text()
    release = load_catalogue(name)
    default = len(release.default_apps())
    optional = ", ".join(app.name for app in release.apps.values() if app.optional)
    expected = [
        f"| {name} | {release.objects} | {default} | {', '.join(sorted(optional.split(', ')))} |"
    ]
    expected += [f"| `{g}` | {', '.join(group.apps)} |" for g, group in release.groups.items()]
    for app in release.apps.values():
        if app.variants:
            assert next(iter(app.variants)) == app.variant
            expected.append(f"| `{app.name}` | {', '.join(f'`{v}`' for v in app.variants)} |")
        for rule in app.secrets:
            expected.append(f"`{rule.namespace}/{rule.name}")
            expected += [f"`{key}`" for key in rule.keys]
    assert [text for text in expected if text not in page] == []
