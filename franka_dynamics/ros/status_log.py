# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Logs what a feedforward node does and what becomes of its references, each reason once."""

from __future__ import annotations

import math
import re
import time
from typing import Any

from .present_status import PresentStatus
from ..control.feedforward import State, Status

MIN_REASON_S = 1.0  # of a reason for silence, until it is logged
_LOG_AGAIN_PERIOD_S = 10.0  # of the same reason for silence
_MIN_PERIOD_S = 1.0  # of any other sentence, whatever its figures


class StatusLog:
    """Logs changes of a status, and why torques ended, do not begin or are not received."""

    def __init__(self, node: Any, present: PresentStatus) -> None:
        self._node, self._present = node, present
        self.begin()

    def begin(self) -> None:
        """Begin an activation: log all reasons anew."""
        self._logged: dict[str, float] = {}  # when what was logged [s]
        self._seen: tuple[State, bool, bool] | None = None
        self._said, self._ran, self._since = '', False, time.monotonic()

    def report(self, status: Status, *, waits: bool) -> None:
        """Log what is new; `waits` says whether torques are to begin by themselves."""
        controller, now = self._present.controller, time.monotonic()
        while controller.ends:
            ending = controller.ends.popleft()
            self._ran = True
            if not ending.latched:  # a fault is logged below
                self._said = self._present.in_words(ending)
                self._warn(f'torques ended: {self._said}', _MIN_PERIOD_S)
        seen = status.state, status.faulty, waits
        if seen != self._seen:
            self._seen, self._since = seen, now
            self._log_change(status, waits, controller.settings.target)
        if status.state is State.RUNNING and self._present.receivers.unheard:
            self._warn(self._present.receivers.unheard, _LOG_AGAIN_PERIOD_S)
        if waits and now >= self._since + MIN_REASON_S:
            yet = '' if self._ran else ' yet'
            self._warn(f'no torque{yet}: {status.why}', _LOG_AGAIN_PERIOD_S)

    def _log_change(self, status: Status, waits: bool, target: str) -> None:
        logger = self._node.get_logger()
        if status.state is State.RUNNING:
            self._said, self._ran = '', True
            logger.info(f'commanding (target {target})')
        elif status.why == self._said:  # of the same stop
            return
        elif status.faulty:
            logger.error(f'fault: {status}')
        elif status.state is not State.SILENT:
            logger.warning(f'{status}')
        elif not waits:
            logger.info(f'{status}')
        self._said = '' if status.state is State.RUNNING else status.why

    def report_reference(self, text: str, *, bad: bool) -> None:
        """Log what became of a reference; of many that replace each other, once a second."""
        if bad:
            self._warn(text, _MIN_PERIOD_S)
        elif self._is_due(text, _MIN_PERIOD_S):
            self._node.get_logger().info(text)

    def _warn(self, text: str, period: float) -> None:
        if self._is_due(text, period):
            self._node.get_logger().warning(text)

    def _is_due(self, text: str, period: float) -> bool:
        """Return whether a text was not logged, whatever its figures, in the last period [s]."""
        what, now = re.sub(r'[\d.]+', '', text), time.monotonic()
        due = now >= self._logged.get(what, -math.inf) + period
        if due:
            self._logged[what] = now
        return due
