# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Workers that do tasks beside this process: processes of this machine, or a Dask cluster."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import as_completed, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
import logging
import multiprocessing
import signal
from typing import Any, TypeVar

from .errors import ClusterError, require_extra

T = TypeVar('T')
SCHEDULER_TIMEOUT_S = 10.0  # a scheduler that is there answers within this time
WORKER_TIMEOUT_S = 5.0  # workers that were started before the command have come by then
# Tasks that are handed out at a time for each worker: one runs, and others wait beside it.
_TASKS_PER_WORKER = 4
# Errors of a pool and of Dask, which may not be installed, by which a worker's death is told.
_DEAD_WORKER_ERRORS = ('BrokenProcessPool', 'KilledWorker')
# Those by which Dask tells that the scheduler has gone, while it runs and while results come.
_GONE_SCHEDULER_ERRORS = (
    'CancelledError',
    'CommClosedError',
    'FutureCancelledError',
    'FuturesCancelledError',
    'ClosedClientError',
)


class Workers:
    """
    Workers in other processes, or on other machines, that do tasks in place of this process.

    `executor` hands tasks to them, `count` is their number at the start, `present` returns the
    names of those that are there now. Each task is a function of a module and its arguments, which
    are sent as they are: send paths, not recordings.
    """

    def __init__(
        self, executor: Executor, count: int, present: Callable[[], set[str]] = set
    ) -> None:
        """Make workers from an executor; `present` returns the names of those still there."""
        self.executor = executor
        self.count = count
        self.present = present
        self._at_start = present()

    def results(self, function: Callable[..., T], tasks: Iterable[Any]) -> Iterator[T]:
        """
        Yield results of a function of each task, in the order in which they are done.

        Only few tasks wait at a time, so that memory does not grow with their number. Raises
        ClusterError if the workers are lost; of the cluster's workers the last must be.
        """
        waiting: set[Future[T]] = set()
        remaining = iter(tasks)
        with cluster_errors():
            while True:
                for task in remaining:
                    waiting.add(self.executor.submit(function, task))
                    if len(waiting) >= _TASKS_PER_WORKER * self.count:
                        break
                if not waiting:
                    return
                done = next(as_completed(waiting))
                waiting.remove(done)
                yield done.result()

    def loss_text(self) -> str:
        """Return a sentence on workers that have ended since the start, or ''."""
        lost = len(self._at_start - self.present())
        if not lost:
            return ''
        whose = 'its tasks were' if lost == 1 else 'their tasks were'
        return (
            f'{lost} of {len(self._at_start)} workers ended meanwhile; {whose} done by others, '
            'each once'
        )


@contextmanager
def workers_of(workers: str) -> Iterator[Workers | None]:
    """
    Yield processes, or the workers of a Dask cluster; None for '1', this process itself.

    `workers` is the number of processes, or the address of a scheduler, tcp://host:port. At Ctrl-C
    the processes are ended, and the cluster is told to drop the tasks. Raises ClusterError if no
    scheduler answers, or it has no workers; MissingDependencyError if Dask is not installed.
    """
    if workers == '1':
        yield None
    elif workers.isdigit():
        with _processes(int(workers)) as pool:
            yield Workers(pool, int(workers))
    else:
        with _cluster(workers) as cluster:
            yield cluster


def map_on(
    executor: Executor | None, function: Callable[..., T], *items: Iterable[Any]
) -> Iterator[T]:
    """Yield results of `function` in order, run here or by an executor; ClusterError if lost."""
    if executor is None:
        yield from map(function, *items)
        return
    with cluster_errors():
        yield from executor.map(function, *items)


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Raise ClusterError, with what to do, in place of the errors of a pool or of Dask."""
    try:
        yield
    except BaseException as error:  # CancelledError is no Exception
        name = type(error).__name__
        if name in _DEAD_WORKER_ERRORS:
            raise ClusterError(
                f'A worker died ({error}), usually of too little memory: take fewer --workers. '
                'Logs of a cluster say more.'
            ) from error
        if name in _GONE_SCHEDULER_ERRORS:
            raise ClusterError(
                'The scheduler of the cluster has ended, or cannot be reached any more: start it '
                'and its workers again, and repeat the command.'
            ) from error
        raise


@contextmanager
def _processes(count: int) -> Iterator[Executor]:
    """Yield a pool of processes that leave Ctrl-C to this process, which then ends them."""
    pool = ProcessPoolExecutor(
        count, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        yield pool
    except BaseException:  # a fit would go on for seconds
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


@contextmanager
def _cluster(address: str) -> Iterator[Workers]:
    """Yield the workers of a Dask cluster; raise ClusterError without it, or without workers."""
    with require_extra('Working on a cluster needs dask', 'cluster'):
        from distributed import Client
    # Dask tells of lost connections by tracebacks on standard error; here they become sentences.
    for name in ('distributed', 'tornado', 'asyncio'):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(address, timeout=SCHEDULER_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f'No Dask scheduler answers at {address} ({str(error)[:200]}); start one with `dask '
            'scheduler`, or correct the address.'
        ) from error
    try:
        try:
            client.wait_for_workers(1, timeout=WORKER_TIMEOUT_S)
        except TimeoutError as error:
            raise ClusterError(
                f'The scheduler at {address} has no workers; start some on machines that see the '
                f'recordings under the same paths: `dask worker {address}`.'
            ) from error
        yield Workers(
            _ClusterExecutor(client), len(client.nthreads()), lambda: set(client.nthreads())
        )
    finally:
        client.close(timeout=1.0)


class _ClusterExecutor(Executor):
    """
    Hands tasks to a Dask cluster one by one.

    Dask would send all tasks of a map as one graph, and warn that it is large; and tasks of the
    same function and arguments would be one task to it.
    """

    def __init__(self, client: Any) -> None:
        """Make the executor of a client."""
        self._inner = client.get_executor(pure=False)

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Hand a task to the cluster, and return its future."""
        future: Future[T] = self._inner.submit(function, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the executor; the client that it belongs to is closed by whoever made it."""
        self._inner.shutdown(wait=wait)
