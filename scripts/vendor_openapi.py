"""Build the vendored OpenAPI data: one `<minor>.json.gz` for each Kubernetes minor version.

    python scripts/vendor_openapi.py 1.35 1.34 1.33 1.32 1.31

Takes the newest patch release of each minor from the Go module `k8s.io/kubernetes` (`go mod
download`, about 60 MB each, one at a time, thrown away afterwards), reads
`api/openapi-spec/swagger.json` out of it, and keeps what `argosy check` needs: the definitions
that a kind with a path of its own reaches, without descriptions, and the table of kinds with
their scope. `--swagger FILE` reads a file instead of downloading. The output is a function of
the input: gzip carries no time stamp, keys are sorted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent.parent / "src" / "argosy" / "platform" / "openapi"
MODULE = "k8s.io/kubernetes"
SWAGGER = "api/openapi-spec/swagger.json"
REF = "#/definitions/"
# keys of a schema that say something about a value; the rest is prose or for patch algorithms
KEPT = frozenset(
    {
        "$ref",
        "additionalProperties",
        "enum",
        "format",
        "items",
        "properties",
        "required",
        "type",
        "x-kubernetes-int-or-string",
    }
)


def main() -> None:
    """Parse the arguments and write a file for each minor version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minors", nargs="+", metavar="MINOR", help="such as 1.35")
    parser.add_argument("--swagger", type=Path, help="read this file; needs exactly one MINOR")
    parser.add_argument("--version", default="", help="the patch release that --swagger is of")
    arguments = parser.parse_args()
    for minor in arguments.minors:
        if arguments.swagger:
            version, text = arguments.version or minor, arguments.swagger.read_bytes()
        else:
            version, text = download(minor)
        data = reduce_swagger(json.loads(text), version=version)
        packed = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        place = OUT / f"{minor}.json.gz"
        partial = place.with_suffix(".partial")
        partial.write_bytes(gzip.compress(packed, 9, mtime=0))
        partial.replace(place)
        print(f"{place.name}: {version}, {len(data['kinds'])} kinds, {place.stat().st_size} bytes")


def download(minor: str) -> tuple[str, bytes]:
    """Return the newest patch release of a minor version and its swagger.json."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "GOMODCACHE": cache, "GOFLAGS": "-modcacherw -mod=mod"}
        listed = _go(["list", "-m", "-versions", "-json", MODULE], cwd=cache, env=env)
        pattern = re.compile(rf"v{re.escape(minor)}\.(\d+)")
        patches = [m for v in listed["Versions"] if (m := pattern.fullmatch(v))]
        if not patches:
            raise SystemExit(f"{MODULE} has no release of {minor}")
        version = max(patches, key=lambda m: int(m[1]))[0]
        archive = _go(["mod", "download", "-json", f"{MODULE}@{version}"], cwd=cache, env=env)
        with zipfile.ZipFile(archive["Zip"]) as zipped:
            return version, zipped.read(f"{MODULE}@{version}/{SWAGGER}")


def _go(arguments: list[str], *, cwd: str, env: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(["go", *arguments], cwd=cwd, env=env, check=True, stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def reduce_swagger(swagger: dict[str, Any], *, version: str) -> dict[str, Any]:
    """Return the kinds that can be written to the API server, and the definitions they reach."""
    definitions = swagger["definitions"]
    by_kind = {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, schema in definitions.items()
        for gvk in schema.get("x-kubernetes-group-version-kind", [])
        if len(schema["x-kubernetes-group-version-kind"]) == 1
    }
    kinds = []
    for gvk, namespaced in sorted(_scopes(swagger["paths"]).items()):
        if gvk in by_kind:
            kinds.append([*gvk, namespaced, by_kind[gvk]])
    kept: dict[str, Any] = {}
    for kind in kinds:
        _collect(kind[4], definitions, kept)
    return {"version": version, "kinds": kinds, "definitions": kept}


def _scopes(paths: dict[str, Any]) -> dict[tuple[str, str, str], bool]:
    """Return which kinds can be created, and whether their path has a namespace in it."""
    scopes: dict[tuple[str, str, str], bool] = {}
    for path, methods in paths.items():
        post = methods.get("post")
        gvk = post and post.get("x-kubernetes-group-version-kind")
        if not gvk or path.count("{name}"):  # a sub-resource such as pods/{name}/eviction
            continue
        key = (gvk["group"], gvk["version"], gvk["kind"])
        scopes[key] = scopes.get(key, False) or "/namespaces/{namespace}/" in path
    return scopes


def _collect(name: str, definitions: dict[str, Any], kept: dict[str, Any]) -> None:
    if name in kept:
        return
    kept[name] = reduced = _reduce(definitions[name])
    for target in _refs(reduced):
        _collect(target, definitions, kept)


def _reduce(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    small = {key: value for key, value in schema.items() if key in KEPT}
    if "properties" in small:
        small["properties"] = {k: _reduce(v) for k, v in small["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in small:
            small[key] = _reduce(small[key])
    return small


def _refs(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [ref for item in schema for ref in _refs(item)]
    if not isinstance(schema, dict):
        return []
    found = [ref for value in schema.values() for ref in _refs(value)]
    if isinstance(schema.get("$ref"), str):
        found.append(schema["$ref"].removeprefix(REF))
    return found


if __name__ == "__main__":
    main()
