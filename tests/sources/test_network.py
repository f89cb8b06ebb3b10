"""Git repositories, plain files and charts come over the network, and nothing else does."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading

import pytest

from argosy import yaml
from argosy.errors import Location
from argosy.sources.errors import FetchError, LockError, PathError
from argosy.sources.network import Network, check_chart, download
from argosy.sources.remote import ChartRef, FileRef, GitRef
from argosy.sources.resolve import Request, Waiver, resolve

FILES = {
    "base/kustomization.yaml": "resources: [x.yaml]\n",
    "base/x.yaml": "kind: X\n",
    "other/big.yaml": "kind: Big\n" * 1000,
}


@pytest.fixture
def network(cache, env) -> Network:
    return Network(cache, env=env)


def test_an_annotated_tag_is_its_commit(new_upstream, network):
    repository = new_upstream("r")
    commit = repository.commit(FILES, tag="v1")
    repository.git("tag", "light")
    for ref in ("v1", "light", "refs/tags/v1"):
        assert network.resolve(GitRef(repository.url, "", ref)) == (commit, "tag")
    assert network.resolve(GitRef(repository.url, "", commit)) == (commit, "commit")
    assert network.resolve(GitRef(repository.url, "", "main")) == (commit, "branch")


def test_a_tag_wins_over_a_branch_of_the_same_name(new_upstream, network):
    repository = new_upstream("r")
    commit = repository.commit(FILES, tag="same")
    repository.git("checkout", "--quiet", "-b", "same")
    repository.commit({"more": "x"})
    assert network.resolve(GitRef(repository.url, "", "same")) == (commit, "tag")


@pytest.mark.parametrize("filtered", [True, False])
def test_only_the_blobs_of_folders_that_are_read_are_fetched(
    new_upstream, network, cache, filtered
):
    repository = new_upstream("r")
    repository.git("config", "uploadpack.allowFilter", str(filtered).lower())
    commit = repository.commit(FILES, tag="v1")
    tree = network.tree(GitRef(repository.url, "", "v1"))
    assert tree.list("") == ["base", "other"]
    assert tree.read("base/x.yaml") == b"kind: X\n"
    folder = next(cache.glob("git/**/HEAD")).parent
    missing = repository.git(
        "--git-dir", str(folder), "rev-list", "--objects", "--missing=print", "-n1", commit
    )
    assert ("?" in missing) is filtered
    assert tree.read("other/big.yaml") == FILES["other/big.yaml"].encode()
    assert not list(cache.glob("git/**/*.yaml"))  # nothing is ever checked out


def test_a_commit_that_is_in_the_cache_is_not_fetched_again(new_upstream, cache, env):
    repository = new_upstream("r")
    commit = repository.commit(FILES, tag="v1")
    ref = GitRef(repository.url, "", "v1")
    assert Network(cache, env=env).tree(ref, commit=commit).read("base/x.yaml") == b"kind: X\n"
    repository.folder.rename(repository.folder.with_name("gone"))
    assert Network(cache, env=env).tree(ref, commit=commit).read("base/x.yaml") == b"kind: X\n"
    with pytest.raises(FetchError, match="cannot be fetched"):
        Network(cache, env=env).resolve(ref)


def test_two_runs_fetch_into_one_cache_at_once(new_upstream, cache, env):
    repository = new_upstream("r")
    commits = [repository.commit({**FILES, "n": str(n)}, tag=f"v{n}") for n in range(4)]
    found: dict[int, bytes] = {}

    def fetch(number: int) -> None:
        tree = Network(cache, env=env).tree(GitRef(repository.url, "", commits[number]))
        found[number] = tree.read("n")

    threads = [threading.Thread(target=fetch, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: str(n).encode() for n in range(4)}


@pytest.mark.parametrize(
    ("ref", "hint"), [("1.0.0", "did you mean v1.0.0?"), ("nope", "name a tag")]
)
def test_a_ref_that_is_not_there_is_named_with_its_place(new_upstream, network, ref, hint):
    repository = new_upstream("r")
    repository.commit(FILES, tag="v1.0.0")
    with pytest.raises(FetchError, match=f"has no ref {ref}; {hint}"[:-1]) as caught:
        network.resolve(GitRef(repository.url, "", ref), where=Location("platform.yaml", 4))
    assert str(caught.value).startswith("platform.yaml:4: ")


def test_a_commit_that_is_not_there_is_refused(new_upstream, network):
    repository = new_upstream("r")
    repository.commit(FILES, tag="v1")
    with pytest.raises(FetchError, match="cannot be fetched"):
        network.tree(GitRef(repository.url, "", "0" * 40))


def test_a_repository_that_is_not_there_is_one_sentence(network, tmp_path):
    with pytest.raises(FetchError, match=r"cannot be fetched: .*check the URL") as caught:
        network.resolve(GitRef(f"file://{tmp_path}/nowhere", "", "v1"))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_branch_is_refused_and_a_waived_one_is_locked_to_its_commit(new_upstream, network, blobs):
    repository = new_upstream("r")
    commit = repository.commit(FILES)
    repository.git("branch", "release")
    asked = [Request("r", GitRef(repository.url, "", "release"), ("base",), Location("p.yaml", 2))]
    with pytest.raises(LockError, match=r"^p\.yaml:2: .*is a branch, which moves"):
        resolve(asked, fetcher=network, blobs=blobs)
    lock = resolve(asked, fetcher=network, blobs=blobs, waivers=[Waiver("r", "it is ours")])
    assert lock.sources["r"].commit == commit


def test_what_only_a_kept_commit_has_can_still_be_read(new_upstream, cache, env, blobs):
    repository = new_upstream("r")
    repository.commit(FILES, tag="v1")
    asked = [Request("r", GitRef(repository.url, "", "v1"), ("base",))]
    lock = resolve(asked, fetcher=Network(cache, env=env), blobs=blobs)
    repository.git("tag", "--delete", "v1")
    repository.commit({"base/x.yaml": "kind: Moved\n"}, tag="v1")
    again = resolve(asked, fetcher=Network(cache, env=env), blobs=blobs, previous=lock)
    assert again == lock
    moved = resolve(asked, fetcher=Network(cache, env=env), blobs=blobs)
    assert moved.sources["r"].commit != lock.sources["r"].commit


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/x.yaml",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x.yaml",
        "data:text/plain,x",
        "x.yaml",
    ],
)
def test_only_https_is_fetched(url):
    with pytest.raises(FetchError, match="only https"):
        download(url, limit=10)


@pytest.mark.parametrize("url", ["http://127.0.0.1/o/r", "git://127.0.0.1/o/r", "ext::sh -c id"])
def test_git_takes_no_other_transport(network, url):
    with pytest.raises(FetchError, match="not allowed"):
        network.resolve(GitRef(url, "", "v1"))


def test_a_file_is_fetched_whole_or_refused(web, network):
    url, folder = web
    (folder / "x.yaml").write_bytes(b"kind: X\n" * 10)
    tree = network.tree(FileRef(f"{url}/x.yaml"))
    assert tree.list("") == ["x.yaml"]
    assert tree.read("x.yaml") == b"kind: X\n" * 10
    with pytest.raises(FetchError, match="more than"):
        download(f"{url}/x.yaml", limit=79)
    with pytest.raises(FetchError, match="answers 404"):
        download(f"{url}/nope.yaml", limit=79)
    with pytest.raises(FetchError, match="cannot be reached"):
        download("http://127.0.0.1:1/x.yaml", limit=79)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://example.com/x", "ftp://h/x"])
def test_a_redirect_cannot_lead_to_another_scheme(redirecting, target):
    with pytest.raises(FetchError, match=r"only https|not allowed"):
        download(f"{redirecting(target)}/x.yaml", limit=100)


def archive(*names: str, link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            if link:
                info.type, info.linkname = tarfile.SYMTYPE, link
            tar.addfile(info)
    return buffer.getvalue()


def test_a_chart_is_fetched_by_its_repositorys_index(web, network):
    url, folder = web
    data = archive("redis/Chart.yaml")
    (folder / "charts").mkdir()
    (folder / "charts/redis-1.2.3.tgz").write_bytes(data)
    entry = {
        "version": "1.2.3",
        "urls": ["charts/redis-1.2.3.tgz"],
        "digest": hashlib.sha256(data).hexdigest(),
    }
    (folder / "index.yaml").write_text(yaml.dump({"entries": {"redis": [entry]}}))
    ref = ChartRef(url, "redis", "1.2.3")
    assert network.tree(ref).read("redis-1.2.3.tgz") == data
    with pytest.raises(FetchError, match=r"no version 9 of redis; it has 1\.2\.3"):
        network.tree(ref._replace(version="9"))
    with pytest.raises(FetchError, match="no chart mysql"):
        network.tree(ref._replace(chart="mysql"))
    (folder / "charts/redis-1.2.3.tgz").write_bytes(archive("redis/Chart.yaml", "redis/x"))
    with pytest.raises(FetchError, match="not what its repository's index says"):
        network.tree(ref)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "redis/../../x", "redis/.git/config"])
def test_an_archive_that_leaves_its_folder_is_refused(name):
    with pytest.raises(PathError, match=r"x|config"):
        check_chart(archive("redis/Chart.yaml", name), "redis")


def test_an_archive_with_links_or_without_form_is_refused():
    with pytest.raises(PathError, match="not a plain file"):
        check_chart(archive("redis/x", link="/etc/passwd"), "redis")
    for data in (b"no archive", archive("redis/Chart.yaml")[:40], b""):
        with pytest.raises(FetchError, match="not a chart archive"):
            check_chart(data, "redis")
