"""The connection to a Dask cluster that somebody has started."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from swdual.errors import ClusterError, InputError

CONNECT_SECONDS = 10
"""How long a scheduler may take to answer."""


def connected(cluster: Any) -> tuple[Any, bool]:
    """Return the client of a cluster, and whether it was made here and is to be closed.

    Parameters
    ----------
    cluster
        A ``distributed.Client``, the address of a scheduler, or a cluster object of Dask's.

    Raises
    ------
    ClusterError
        If no scheduler answers there, or ``distributed`` is not installed.
    InputError
        If it is none of these.
    """
    try:
        from distributed import Client
        from distributed.deploy import Cluster
    except ImportError as error:
        raise ClusterError(
            f"a cluster needs Dask ({error}); install it: pip install 'swdual[cluster]'"
        ) from error
    if isinstance(cluster, Client):
        if cluster.asynchronous:
            raise InputError("the client of the cluster is asynchronous, but must not be")
        return cluster, False
    if not isinstance(cluster, (str, Cluster)):
        raise InputError(
            "cluster is the address of a Dask scheduler, its Client or its Cluster, not "
            f"{type(cluster).__name__}"
        )
    name = cluster if isinstance(cluster, str) else cluster.scheduler_address
    try:
        if isinstance(cluster, str):
            _knock(cluster)
        client = Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False, name="swdual")
    except (OSError, TimeoutError) as error:
        cause = getattr(error, "strerror", None) or str(error.__cause__ or error)
        raise ClusterError(
            f"{name}: no Dask scheduler answers there ({cause}); start one with 'dask scheduler', "
            "or check host, port and firewall"
        ) from error
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(
            f"cluster {name!r} is no address such as tcp://host:8786: {error}"
        ) from error
    return client, True


def _knock(address: str) -> None:
    """Find out at once if nobody listens there, or nobody who talks as Dask does.

    Dask's client would go on trying, or wait for an answer, without end.
    """
    from distributed.comm.addressing import get_address_host_port
    from distributed.core import connect
    from distributed.security import Security
    from distributed.utils import LoopRunner, sync

    with socket.create_connection(get_address_host_port(address), CONNECT_SECONDS):
        pass
    runner = LoopRunner()
    runner.start()
    try:
        keys = Security().get_connection_args("client")
        greeting = sync(
            runner.loop,
            connect,
            address,
            timeout=CONNECT_SECONDS,
            callback_timeout=CONNECT_SECONDS,
            **keys,
        )
        runner.run_sync(greeting.close)
    finally:
        runner.stop()


def hush() -> None:
    """Have Dask say nothing on standard error: what matters, errors and warnings here say."""
    with suppress(ImportError):  # which `connected` tells
        import distributed  # noqa: F401  (sets up its own messages when it is imported)

        logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)


def unlike(client: Any, addresses: Iterable[str]) -> dict[str, str]:
    """Return the workers that cannot search with this process, and why, by their addresses."""
    told = client.get_versions(packages=["swdual"])
    here, own = told["client"]["packages"].get("swdual"), _python(told["client"])
    found = {}
    for address in addresses:
        facts = told["workers"].get(address)
        if not isinstance(facts, dict):
            continue  # it is gone, or did not answer yet
        release, python = facts["packages"].get("swdual"), _python(facts)
        if release is None:
            found[address] = f"has no swdual, but here is release {here}; install it there"
        elif release != here:
            found[address] = unlike_releases(release, here)
        elif python != own:
            found[address] = f"runs Python {python}, but here is {own}; use one version everywhere"
    return found


def unlike_releases(there: str, here: str) -> str:
    """Return what is wrong with a worker of another release."""
    return f"has swdual {there}, but here is {here}; install one release everywhere"


def _python(facts: dict[str, Any]) -> str:
    """Return major and minor version of Python."""
    return ".".join(str(facts["host"]["python"]).split(".")[:2])


def host_of(address: str) -> str:
    """Return the host of an address such as ``tcp://host:1234``.

    >>> host_of("tcp://node07:40123")
    'node07'
    """
    return address.partition("://")[2].rpartition(":")[0] or address
