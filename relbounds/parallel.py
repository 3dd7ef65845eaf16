"""Running independent tasks in order: on one core, on several, or on a Dask cluster."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

from relbounds.checks import shown
from relbounds.errors import OptionError, WorkerError

Function = Callable[[Any, Any], Any]
# How often the same work is begun again after its worker was killed: once is bad luck, three times a cause.
LOSSES = 2
# Of the GNU allocator (malloc.h): how much free memory it keeps, and from which size on blocks are the system's own;
# the latter as it is from the start, and as it is while a task runs.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MAPPED_BLOCK, KEPT_BLOCK = 128 * 2**10, 32 * 2**20
# Tasks of fewer seconds hand back nothing: what they kept is less than what fetching it again would cost the next one.
SHORT = 1.0
# Where stored arrays may begin, in bytes: that of the processor's cache lines.
ALIGNED = 64


def chunks(count: int, size: int) -> list[range]:
    """Return the ranges that cut ``0..count-1`` into pieces of about the same size, `size` at most.

    The cut never depends on `n_jobs`.

    Examples
    --------
    >>> [list(piece) for piece in chunks(5, 4)]
    [[0, 1, 2], [3, 4]]
    """
    size = -(-count // max(1, -(-count // size)))
    return [range(first, min(first + size, count)) for first in range(0, count, max(1, size))]


def run(
    function: Function,
    tasks: Sequence[Any],
    *,
    n_jobs: int = 1,
    shared: Any = None,
    progress: Callable[[int], object] | None = None,
    client: Any = None,
    uneven: bool = False,
) -> list[Any]:
    """Return ``[function(task, shared) for task in tasks]``, in order.

    Parameters
    ----------
    function : callable
        A function of a module, so that it can be sent to other processes.
    tasks : sequence
        What differs from call to call: small.
    n_jobs : int
        Number of processes; -1 takes all cores.
    shared : object
        What all calls need; sent to each process once.
    progress : callable or None
        Called with the number of tasks finished since the last call.
    client : dask.distributed.Client or None
        A cluster to work on; one made active by ``joblib.parallel_config("dask")`` is found by itself.
    uneven : bool
        Whether the first tasks take much longer than the others.

    Examples
    --------
    >>> run(lambda task, shared: shared + task, [1, 2], shared=10)
    [11, 12]
    """
    done = progress if progress is not None else _ignore
    client = check_client(client) if client is not None else active_client()
    # one task alone has nobody to share with, and would only be sent about
    if client is not None and len(tasks) > 1:
        return _on_cluster(function, tasks, shared, done, client, uneven)
    n_jobs = min(n_jobs, len(tasks))  # more processes than tasks would only wait
    if n_jobs == 1 or len(tasks) < 2:
        found = []
        for task in tasks:
            found.append(_call(function, task, shared))
            done(1)
        return found
    return _on_cores(function, tasks, shared, done, n_jobs)


@dataclass(frozen=True)
class Job:
    """Independent calls of one function, as `run` makes them."""

    function: Function
    tasks: Sequence[Any]
    shared: Any = None


def run_together(jobs: Sequence[Job], *, n_jobs: int = 1, client: Any = None) -> list[list[Any]]:
    """Return what `run` does for each of several jobs that do not need one another: none waits for another to end.

    The longest tasks should come first.

    Examples
    --------
    >>> add = Job(lambda task, shared: shared + task, [1, 2], shared=10)
    >>> multiply = Job(lambda task, shared: shared * task, [3], shared=10)
    >>> run_together([add, multiply])
    [[11, 12], [30]]
    """
    calls = [(k, task) for k, job in enumerate(jobs) for task in job.tasks]
    shared = [(job.function, job.shared) for job in jobs]
    found = run(_call_of_job, calls, n_jobs=n_jobs, shared=shared, client=client, uneven=True)
    return [[one for (k, _), one in zip(calls, found, strict=True) if k == j] for j in range(len(jobs))]


def _call_of_job(call: tuple[int, Any], jobs: list[tuple[Function, Any]]) -> Any:
    k, task = call
    function, shared = jobs[k]
    return function(task, shared)


def active_client() -> Any:
    """Return the client of a Dask backend that joblib was told to use, or None.

    Examples
    --------
    >>> active_client() is None
    True
    """
    if "joblib" not in sys.modules:  # nobody can have told it anything
        return None
    from joblib.parallel import get_active_backend  # slow to load

    backend = get_active_backend()[0]
    return getattr(backend, "client", None) if type(backend).__name__ == "DaskDistributedBackend" else None


def check_client(client: Any) -> Any:
    """Return a Dask client, or None; anything else is an error before the work begins.

    Examples
    --------
    >>> check_client("localhost:8786")
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: client='localhost:8786' must be a dask.distributed.Client; ...
    """
    if client is None or all(
        callable(getattr(client, verb, None)) for verb in ("submit", "map", "gather", "cancel")
    ):
        return client
    raise OptionError(
        f"client={shown(client)} must be a dask.distributed.Client; make one with Client(address) first."
    )


def _ignore(_: int) -> None:
    return None


def _call(function: Function, task: Any, shared: Any) -> Any:
    with one_thread():
        return function(task, shared)


# Whether this call is inside one that has limited BLAS to one thread, and if so whether that knew of CVXOPT.
_LIMITED: ContextVar[bool | None] = ContextVar("relbounds_one_thread", default=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread: numbers must not depend on the thread count, wherever a call runs.

    Looking for the libraries takes milliseconds, so a call inside another one leaves it at that.

    Examples
    --------
    >>> with one_thread(), one_thread():
    ...     pass
    """
    # CVXOPT brings a BLAS of its own when it is first asked
    loaded = "cvxopt" in sys.modules
    if _LIMITED.get() is loaded:
        yield
        return
    token = _LIMITED.set(loaded)
    try:
        with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITED.reset(token)


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Find the libraries that have threads: again when modules were loaded, which may have brought one."""
    return ThreadpoolController()


def _on_cores(
    function: Function, tasks: Sequence[Any], shared: Any, done: Callable[[int], object], n_jobs: int
) -> list[Any]:
    import joblib  # slow to load

    found: list[Any] = []
    losses = 0
    with _stored(shared, pickle.dumps) as file:
        while len(found) < len(tasks):
            before = len(found)
            calls = [joblib.delayed(_call_stored)(function, task, file) for task in tasks[before:]]
            # one at a time: several that are short would be handed out together, and the last waited for
            pool = joblib.Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)
            try:
                # closing the generator ends the workers: after an interrupt none goes on working for nobody
                with closing(pool(calls)) as results:
                    for one in results:
                        found.append(one)
                        done(1)
            except BrokenProcessPool as error:
                # tasks have no side effects, so what is missing is simply done again
                losses = losses + 1 if len(found) == before else 1
                if losses > LOSSES:
                    raise WorkerError(lost_workers(n_jobs)) from error
    return found


def lost_workers(n_jobs: int) -> str:
    """Say that worker processes were lost, and what to do about it."""
    return (
        f"Worker processes were killed {LOSSES + 1} times in a row before their work was done; most often the machine "
        f"has too little memory for n_jobs={n_jobs}. Use fewer processes: n_jobs=1 needs none."
    )


@contextmanager
def _stored(shared: Any, dumps: Callable[..., bytes]) -> Iterator[str]:
    """Have what all calls need in a file for a while: the contents of arrays apart from the rest, after where each is.

    Nobody else can look into the folder, so nobody knows the name: on another machine no file of that name is found.
    """
    arrays: list[pickle.PickleBuffer] = []
    with no_collecting():
        rest = dumps(shared, protocol=5, buffer_callback=arrays.append)
    pieces: list[bytes | memoryview] = [rest, *(array.raw() for array in arrays)]
    with tempfile.TemporaryDirectory(prefix="relbounds-", ignore_cleanup_errors=True) as folder:
        name = Path(folder) / secrets.token_hex(16)
        with open(name, "wb") as file:
            pickle.dump([len(piece) for piece in pieces], file)
            for piece in pieces:
                file.write(bytes(-file.tell() % ALIGNED))
                file.write(piece)
        yield str(name)


def _call_stored(function: Function, task: Any, file: str) -> Any:
    return _call(function, task, _load(file))


@lru_cache(maxsize=1)
def _load(name: str) -> Any:
    """Read what all calls need, once per process; arrays stay in their file, which all processes share."""
    with open(name, "rb") as file:
        sizes = pickle.load(file)
        place = file.tell()
        memory = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
    pieces = []
    for size in sizes:
        place += -place % ALIGNED
        pieces.append(memory[place : place + size])
        place += size
    with no_collecting():
        return pickle.loads(pieces[0], buffers=pieces[1:])


@contextmanager
def no_collecting() -> Iterator[None]:
    """Let nothing look for garbage while many objects are made that are none, which may take most of the time.

    Examples
    --------
    >>> with no_collecting():
    ...     gc.isenabled()
    False
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _on_cluster(
    function: Function,
    tasks: Sequence[Any],
    shared: Any,
    done: Callable[[int], object],
    client: Any,
    uneven: bool,
) -> list[Any]:
    from distributed.protocol.pickle import dumps

    # a worker has its next task before it has ended one; behind a long one that would wait while others are idle
    ahead = sum(client.nthreads().values()) if uneven else 0
    if ahead < 2:
        ahead = len(tasks)
    found: list[Any] = [_NotHere()] * len(tasks)
    with _stored(shared, dumps) as file:
        # workers on this machine read the file, which takes no message but that of the tasks
        if all(one is True for one in client.run(os.path.exists, file, on_error="return").values()):
            found = _map_on_cluster(_call_if_here, tasks, ahead, done, client, function=function, file=file)
            done = _ignore  # all were counted, also those that a worker from elsewhere came for meanwhile
    elsewhere = [k for k, one in enumerate(found) if isinstance(one, _NotHere)]
    if not elsewhere:
        return found
    # bytes go through the scheduler and from worker to worker as they are, and each worker reads them once
    with no_collecting():
        stored = dumps(shared)
    # A task rather than scattered data: if the worker that holds it dies, the scheduler makes it again.
    held = client.submit(_keep, stored, pure=False)
    # tasks go where their data are: with one copy, several would wait for the worker that has it
    client.replicate([held])
    rest = [tasks[k] for k in elsewhere]
    again = _map_on_cluster(_call_on_worker, rest, ahead, done, client, function=function, stored=held)
    for k, one in zip(elsewhere, again, strict=True):
        found[k] = one
    return found


def _map_on_cluster(
    call: Callable[..., Any],
    tasks: Sequence[Any],
    ahead: int,
    done: Callable[[int], object],
    client: Any,
    **same: Any,
) -> list[Any]:
    """Return ``[call(task, **same) for task in tasks]``; no more than so many tasks are handed out at a time."""
    from distributed import KilledWorker, as_completed

    futures: list[Any] = []

    def hand_out(some: Sequence[Any]) -> list[Any]:
        # in one message: many short tasks sent one by one would wait for each other
        futures.extend(client.map(call, list(some), pure=False, retries=3, **same))
        return futures[-len(some) :]

    try:
        running = as_completed(hand_out(tasks[:ahead]))
        for _ in running:
            done(1)
            if len(futures) < len(tasks):
                running.update(hand_out(tasks[len(futures) : len(futures) + 1]))
        return list(client.gather(futures))
    except KilledWorker as error:
        client.cancel(futures)
        raise WorkerError(
            "Workers of the Dask cluster were killed again and again while doing the same work; most often they have "
            "too little memory. Give them more, or work on one machine: client=None."
        ) from error
    except BaseException:
        client.cancel(futures)
        raise


@dataclass(frozen=True)
class _NotHere:
    """What a worker answers that cannot read the file: it is on another machine, or belongs to somebody else."""


def _call_if_here(task: Any, *, function: Function, file: str) -> Any:
    with freed_memory_kept(SHORT):
        try:
            shared = _load(file)
        except OSError:
            return _NotHere()
        return _call(function, task, shared)


def _keep(stored: bytes) -> bytes:
    return stored


def _call_on_worker(task: Any, *, function: Function, stored: bytes) -> Any:
    with freed_memory_kept(SHORT):
        return _call(function, task, _read(stored))


@lru_cache(maxsize=1)
def _read(stored: bytes) -> Any:
    with no_collecting():
        return pickle.loads(stored)


@contextmanager
def freed_memory_kept(at_least: float = 0.0) -> Iterator[None]:
    """Have the GNU allocator keep freed arrays for the next ones where it was told to hand them back at once.

    Dask tells its workers so (``MALLOC_TRIM_THRESHOLD_``). Fetching the same arrays from the system again, page by
    page, in every iteration of a solver doubles its time. Afterwards all is as it was, and what was kept handed back;
    not after less than so many seconds, `at_least`: another short task mostly follows and would fetch it again.

    Examples
    --------
    >>> with freed_memory_kept():
    ...     pass
    """
    trim = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    libc = ctypes.CDLL(None) if trim.isdigit() and sys.platform == "linux" else None
    if not hasattr(libc, "mallopt"):  # another system, or another allocator
        yield
        return
    assert libc is not None
    libc.mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK)
    libc.mallopt(M_TRIM_THRESHOLD, 2 * KEPT_BLOCK)
    began = time.monotonic()
    try:
        yield
    finally:
        libc.mallopt(M_MMAP_THRESHOLD, int(os.environ.get("MALLOC_MMAP_THRESHOLD_", MAPPED_BLOCK)))
        libc.mallopt(M_TRIM_THRESHOLD, int(trim))
        if time.monotonic() - began >= at_least:
            libc.malloc_trim(0)
