"""Connects to a running Dask cluster, and looks which of its workers can search."""

from __future__ import annotations

import logging
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from swdual.errors import ClusterError, InputError
from swdual.runtime.extras import install_command
from swdual.version import __version__

CONNECT_SECONDS = 10
"""How long a scheduler may take to answer."""


def connect(cluster: Any) -> tuple[Any, bool]:
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
        If it is nothing of that kind.
    """
    try:
        from distributed import Client
        from distributed.deploy import Cluster
        from distributed.versions import VersionMismatchWarning
    except ImportError as error:
        raise ClusterError(
            f"a cluster needs Dask ({error}); install it: {install_command('cluster')}"
        ) from error
    if isinstance(cluster, Client):
        if cluster.asynchronous:
            raise InputError("the client of the cluster is asynchronous, but must not be")
        if cluster.status != "running":
            raise ClusterError("the client of the cluster is closed; connect another")
        return cluster, False
    if not isinstance(cluster, (str, Cluster)):
        raise InputError(
            "cluster is the address of a Dask scheduler, its Client or its Cluster, not "
            f"{type(cluster).__name__}"
        )
    name = cluster if isinstance(cluster, str) else cluster.scheduler_address
    try:
        if isinstance(cluster, str):
            probe_scheduler(cluster)
        with warnings.catch_warnings():
            # Other libraries may differ; swdual and Python must not, see `explain_python_mismatch`.
            warnings.simplefilter("ignore", VersionMismatchWarning)
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


def probe_scheduler(address: str) -> None:
    """Raise an OSError at once if no Dask scheduler listens at an address.

    Dask's client would retry, or wait for an answer, forever.
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


def silence_dask_logs() -> None:
    """Silence Dask's messages on standard error: errors and warnings of swdual say what matters."""
    with suppress(ImportError):  # `connect` reports that
        import distributed.client  # noqa: F401  (sets up its messages when it is imported)

        for name in ["distributed", *logging.root.manager.loggerDict]:
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def make_release_probe() -> Callable[[], str | None]:
    """Return a function that returns the release of swdual where it runs; None if there is none.

    It is nested, so Dask sends its code: it also runs where swdual is not installed.
    """

    def release() -> str | None:
        import importlib

        try:
            version: str = importlib.import_module("swdual.version").__version__
        except ImportError:
            return None
        return version

    return release


class WorkerInfo(NamedTuple):
    """A Dask worker as the scheduler knows it.

    `directory` is its local directory. Dask makes one for each worker process, so it tells a worker
    from earlier and later ones at its address.
    """

    directory: str
    name: str
    host: str
    resources: dict[str, float]


def list_workers(client: Any) -> dict[str, WorkerInfo]:
    """Return the workers of a cluster by their addresses."""
    return {
        address: WorkerInfo(
            worker["local_directory"], str(worker["name"]), worker["host"], worker["resources"]
        )
        for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()
    }


def explain_release_mismatch(release: str | None) -> str | None:
    """Return why a worker with a release of swdual cannot search with this process, if so."""
    if release is None:
        return f"has no swdual, but here is release {__version__}; install it there"
    if release != __version__:
        return f"has swdual {release}, but here is {__version__}; install one release everywhere"
    return None


def explain_python_mismatch(version: str) -> str | None:
    """Return why a worker with a version of Python cannot search with this process, if so.

    >>> explain_python_mismatch("2.7.18").partition(",")[0]
    'runs Python 2.7.18'
    """
    here = sys.version_info
    if version.split(".")[:2] == [str(here.major), str(here.minor)]:
        return None
    return f"runs Python {version}, but here is {here.major}.{here.minor}; use one everywhere"
