# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the FCI node says about itself once per second."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from .diagnostics import diagnostic_array, ERROR, OK, status, WARN
from ..control.feedforward import FeedforwardController
from ..control.statistics import Durations
from ..fci.connection import FciReading
from ..fci.model_difference import ModelDifference
from ..fci.torque_loop import LoopState, TorqueLoop

_CYCLE_S = 1e-3


class FciDiagnostics:
    """Publishes the loop's state, its periods, lost packets and the models' differences."""

    def __init__(self, node: Any, loop: TorqueLoop, controller: FeedforwardController) -> None:
        self._node, self._loop, self._controller = node, loop, controller
        self._periods, self._answers = Durations(1 << 14), Durations(1 << 14)
        self._arrival: float | None = None
        self._reading: FciReading | None = None
        self._lost = 0
        self._difference: ModelDifference | None = None
        self.refused = 0
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)

    def note_cycle(self, reading: FciReading, arrival: float, answered: float | None) -> None:
        """
        Take note of a cycle.

        Parameters
        ----------
        reading : FciReading
            Its state.
        arrival, answered : float
            When the state was read and the torque was out (steady clock, [s]); the latter None
            where no torque was commanded.

        """
        if answered is None:
            self._arrival = None
        else:
            if self._arrival is not None:
                self._periods.add(arrival - self._arrival)
            self._arrival = arrival
            self._answers.add(answered - arrival)
        if self._reading is not None:
            elapsed = reading.time - self._reading.time
            self._lost += max(0, round(elapsed / _CYCLE_S) - 1)
        self._reading = reading

    def note_model(self, difference: ModelDifference) -> None:
        """Remember how our model differs from the robot's."""
        self._difference = difference

    def publish(self) -> None:
        """Publish all statuses."""
        statuses = [self._link()]
        if self._difference is not None:
            statuses.append(self._model(self._difference))
        self._publisher.publish(diagnostic_array(self._node, statuses))

    def _status(self, subject: str, level: bytes, message: str, pairs: dict[str, Any],
                ) -> DiagnosticStatus:
        return status(self._node.get_fully_qualified_name().lstrip('/'), subject, level, message,
                      self._controller.description.name, pairs)

    def _link(self) -> DiagnosticStatus:
        loop, reading = self._loop, self._reading
        level = {LoopState.CONTROLLING: OK, LoopState.FAULT: ERROR}.get(loop.state, WARN)
        pairs: dict[str, Any] = {'state': loop.state.value, 'last stop': loop.last_stop}
        if reading is not None:
            pairs.update({'robot mode': reading.mode, 'robot errors': reading.errors,
                          'commands received by the robot [%]': 100.0 * reading.received})
        return self._status('FCI', level, loop.reason, {
            **pairs, 'states lost': self._lost, 'commands': loop.written,
            'cut by a limit': loop.cut, 'messages refused': self.refused,
            'loop period p50 [ms]': 1e3 * self._periods.percentile(50),
            'loop period p99 [ms]': 1e3 * self._periods.percentile(99),
            'answer time p50 [us]': 1e6 * self._answers.percentile(50),
            'answer time p99 [us]': 1e6 * self._answers.percentile(99)})

    def _model(self, difference: ModelDifference) -> DiagnosticStatus:
        terms = {'M [kg m^2]': difference.mass, 'C dq [N m]': difference.coriolis,
                 'g [N m]': difference.gravity}
        return self._status('Model', OK, difference.sentence(), {
            f'largest difference of {name}': term.largest for name, term in terms.items()})
