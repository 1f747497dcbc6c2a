# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References read and planned beside the torque loop, because a long one takes many cycles."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..control.feedforward import FeedforwardController
from ..control.reference_request import TrajectoryRequest
from ..errors import ReferenceRefusedError

# Messages up to this size are planned at once, in less than a millisecond: single points and
# short trajectories, of which streams are made.
_SHORT_BYTES = 4096
_MOST_WAITING = 10


class ReferencePlanner:
    """
    Plans references in the order they came: short ones at once, long ones on a thread.

    Parameters
    ----------
    controller : FeedforwardController
        Which is to follow them; it is only touched by the thread that calls `take` and `step`.
    read : callable
        A message's bytes -> TrajectoryRequest; raises FrankaDynamicsError.

    """

    def __init__(
        self, controller: FeedforwardController, read: Callable[[bytes], TrajectoryRequest]
    ) -> None:
        self._controller, self._read = controller, read
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix='references')
        self._waiting: deque[bytes] = deque()
        self._under_way: Future[Any] | None = None

    def take(self, data: bytes) -> None:
        """
        Follow a reference, at once or as soon as it is planned.

        Raises
        ------
        FrankaDynamicsError
            If it cannot be read or followed, or too many wait.

        """
        idle = self._under_way is None and not self._waiting
        if len(data) <= _SHORT_BYTES and idle:
            self._controller.set_reference(self._read(data))
        elif len(self._waiting) >= _MOST_WAITING:
            raise ReferenceRefusedError(f'{_MOST_WAITING} references are being planned already')
        else:
            self._waiting.append(data)

    def step(self) -> None:
        """
        Carry the oldest waiting reference one stage on; to be called in every cycle.

        Raises
        ------
        FrankaDynamicsError
            If it cannot be read or followed.

        """
        if self._under_way is None:
            if self._waiting:
                self._under_way = self._pool.submit(self._read, self._waiting.popleft())
            return
        if not self._under_way.done():
            return
        done, self._under_way = self._under_way, None
        result = done.result()
        if isinstance(result, TrajectoryRequest):
            self._under_way = self._pool.submit(
                self._controller.plan, result, self._controller.planning_basis(result)
            )
        else:
            self._controller.require_following()
            self._controller.follow(result)

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)
