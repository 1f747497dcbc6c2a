# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An identification over a Dask cluster: bags are mapped, summaries reduced as a tree.

Only r_factors travel. The end of a worker loses nothing: the scheduler runs its bags
again elsewhere. Every worker must see the bags under the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import add
from typing import Any

import numpy as np

from .bag_job import BagJob, BagNote, BagResult, job_lag_sums, require_one_arm, run_job
from .identify import identify_summary
from .options import IdentificationOptions, SIGMOID
from .qr_factors import Summary
from .result import Identification
from ..arm import ArmDescription
from ..errors import ClusterError, IdentificationError, MissingDependencyError, RecordingError
from ..typing import Array

_CONNECT_S = 20.0


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """
    Yield a client of the Dask scheduler at an address such as tcp://host:8786.

    Raises
    ------
    ClusterError
        If nobody answers there.
    MissingDependencyError
        If dask is not installed.

    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            "Identifying on a cluster needs dask: pip install 'franka_dynamics[cluster]'."
        ) from error
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f'No Dask scheduler answers at {address} ({error}); start one with '
            '`dask scheduler`, or fix the address.'
        ) from error
    with client:
        yield client


def identify_on_cluster(
    client: Any,
    jobs: Sequence[BagJob],
    start: ArmDescription,
    published: Sequence[ArmDescription] = (),
    options: IdentificationOptions | None = None,
    *,
    tests: Sequence[BagJob] = (),
    hands: Sequence[ArmDescription] = (),
    skip_failures: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Identification, list[BagNote], list[str]]:
    """
    Identify an arm from bags that a cluster reads.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    jobs : sequence of BagJob
        The bags, prepared alike.
    start, published, options, hands
        As for `identify`.
    tests : sequence of BagJob
        Unseen bags that decide the verdict.
    skip_failures : bool
        Go on without bags that cannot be used; otherwise the first of them ends it.
    progress : callable, optional
        Called with bags done and bags to come.

    Returns
    -------
    tuple of Identification, list of BagNote, list of str
        The result, what was read, and one sentence for each bag left out.

    Raises
    ------
    RecordingError
        If a bag cannot be used and failures are not to be skipped, or none can.
    IdentificationError
        If an option needs the samples in this process, or as for `identify`.
    ClusterError
        If workers die so often that a bag cannot be done.

    """
    chosen = IdentificationOptions() if options is None else options
    if chosen.friction == SIGMOID or chosen.encoder_noise is not None:
        raise IdentificationError(
            'Sigmoid friction and the bias from encoder noise need the '
            'samples themselves; leave them out on a cluster.'
        )
    if not jobs:
        raise IdentificationError('There is no recording to identify from.')
    model = chosen.torque_model(start)
    every = [*jobs, *tests]
    results = [
        client.submit(run_job, job, model, start, chosen.folds, pure=False) for job in every
    ]
    notes = _notes(client, results, progress)
    failures = [one.failure for one in notes if one.failure]
    used = [
        (job, future, k >= len(jobs))
        for k, (job, future, one) in enumerate(zip(every, results, notes))
        if not one.failure
    ]
    learnt = [job for job, _, test in used if not test]
    if failures and (not skip_failures or not learnt):
        raise RecordingError(failures[0])
    require_one_arm([one.note for one in notes if one.note is not None])

    def joined(unseen: bool) -> Summary | None:
        futures = [
            client.submit(_summary_of, future, pure=False)
            for _, future, test in used
            if test == unseen
        ]
        return _gather(client, _tree(client, futures)) if futures else None

    def sums(theta: Array, scale: Array) -> Array:
        futures = [
            client.submit(job_lag_sums, job, model, theta, scale, pure=False) for job in learnt
        ]
        return np.asarray(_gather(client, _tree(client, futures)))

    summary = joined(False)
    assert summary is not None
    fitted = identify_summary(
        summary,
        sums,
        model,
        start,
        published,
        chosen,
        jobs[0].signal,
        tests=joined(True),
        hands=hands,
    )
    return fitted.result, [one.note for one in notes if one.note is not None], failures


def _notes(
    client: Any,
    results: list[Any],
    progress: Callable[[int, int], None] | None,
) -> list[BagResult]:
    """Return each bag's result without its summary, which stays where it is."""
    futures = [client.submit(_without_summary, future, pure=False) for future in results]
    if progress is not None:
        from distributed import as_completed

        for done, _ in enumerate(as_completed(futures), start=1):
            progress(done, len(futures))
    return list(_gather(client, futures))


def _without_summary(result: BagResult) -> BagResult:
    return BagResult(result.note, None, result.failure)


def _summary_of(result: BagResult) -> Summary:
    assert result.summary is not None
    return result.summary


def _tree(client: Any, futures: list[Any]) -> Any:
    """Return the future of the sum of all, joined pairwise."""
    while len(futures) > 1:
        joined = [
            client.submit(add, one, other, pure=False)
            for one, other in zip(futures[::2], futures[1::2])
        ]
        futures = joined + ([futures[-1]] if len(futures) % 2 else [])
    return futures[0]


def _gather(client: Any, futures: Any) -> Any:
    """Return what futures hold; a cluster that keeps losing workers is one sentence."""
    from distributed.scheduler import KilledWorker

    try:
        return client.gather(futures)
    except KilledWorker as error:
        raise ClusterError(
            f'Workers died again and again on one bag ({error}); look at their '
            'logs, most often for memory.'
        ) from error
