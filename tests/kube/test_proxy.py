"""Whether a request goes through a proxy is decided as Go decides it."""

from __future__ import annotations

import pytest

from argosy.kube.proxy import from_environment

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "excluded", "expected"),
    [
        ("https://api.example.com", "", PROXY),
        ("https://api.example.com", "example.com", ""),
        ("https://example.com", ".example.com", PROXY),
        ("https://api.example.com", ".example.com", ""),
        ("https://api.example.com", "*.example.com", ""),
        ("https://notexample.com", "example.com", PROXY),
        ("https://api.example.com:6443", "api.example.com:443", PROXY),
        ("https://api.example.com:6443", "api.example.com:6443", ""),
        ("https://10.1.2.3", "10.0.0.0/8", ""),
        ("https://11.1.2.3", "10.0.0.0/8", PROXY),
        ("https://api.example.com", "10.0.0.0/8", PROXY),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", ""),
        ("https://[fd00::1]:6443", "fd00::/8", ""),
        ("https://api.example.com", "other, *", ""),
        ("https://127.0.0.1:6443", "", ""),
        ("https://localhost:6443", "", ""),
        ("http://api.example.com", "", ""),
    ],
)
def test_no_proxy_rules(server: str, excluded: str, expected: str) -> None:
    env = {"HTTPS_PROXY": PROXY, "NO_PROXY": excluded}
    assert from_environment(server, env) == expected


def test_lower_case_names_and_bare_hosts_work() -> None:
    assert from_environment("https://a.b", {"https_proxy": "proxy:1"}) == "http://proxy:1"
