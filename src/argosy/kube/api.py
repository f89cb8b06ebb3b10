"""The API server as one object: read, write and watch any resource.

Nothing here decides anything: each method writes down a request and hands it to the transport.
Refuses what a method cannot make sense of (an object without a name) before it is sent.
"""

from __future__ import annotations

from argosy.kube.read import Reading
from argosy.kube.write import Writing

__all__ = ["KubeApi"]


class KubeApi(Reading, Writing):
    """A client of one API server; use it as an async context manager.

    Args:
        config: which server, and as whom.
        field_manager: who we are in managedFields.
        concurrency: how many requests are in flight at most; fewer when the server says 429.
        backoff: how patient to be with failures.
        cache: the directory that discovery is kept in; None takes the configuration's.
        interactive: whether a credential plugin may talk to the user on the terminal.
        on_warning: takes the server's warnings (deprecated versions, unknown fields).
        surroundings: time and chance.
    """
