# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the FCI node says about itself in /diagnostics."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from .diagnostics import ERROR, OK, PublicationTimes, StatusPublisher, WARN
from ..control.cycle_result import Durations
from ..control.feedforward import FeedforwardController
from ..fci.connection import FciReading
from ..fci.model_difference import ModelDifference
from ..fci.preflight import Preflight, PreflightVerdict
from ..fci.torque_loop import LoopState, TorqueLoop

_CYCLE_S = 1e-3


class FciDiagnostics(StatusPublisher):
    """Publishes the loop's state, its periods, lost packets and the models' differences."""

    def __init__(
        self, node: Any, loop: TorqueLoop, controller: FeedforwardController, preflight: Preflight
    ) -> None:
        super().__init__(node, controller.description.name)
        self.times = PublicationTimes()
        self._loop, self._controller = loop, controller
        self._preflight = preflight
        self._periods, self._answers = Durations(1 << 14), Durations(1 << 14)
        self._arrival: float | None = None
        self._reading: FciReading | None = None
        self._lost = self._unanswered = 0
        self._difference: ModelDifference | None = None
        self.refused = 0

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
        lost = 0
        if self._reading is not None:
            lost = max(0, round((reading.time - self._reading.time) / _CYCLE_S) - 1)
        self._reading = reading
        self._lost += lost
        if answered is None:
            self._arrival = None
            return
        if self._arrival is not None:
            self._periods.add(arrival - self._arrival)
            self._unanswered += lost
        self._arrival = arrival
        self._answers.add(answered - arrival)

    def note_model(self, difference: ModelDifference) -> None:
        """Remember how our model differs from the robot's."""
        self._difference = difference

    def summary(self) -> str:
        """Return what became of the robot's states while torques were commanded."""
        return (
            f'{self._loop.written} torques were sent, each in answer to another state; '
            f'{self._unanswered} states between them were not answered'
        )

    def publish_all(self) -> None:
        """Publish all statuses."""
        models = [] if self._difference is None else [self._model(self._difference)]
        self.publish(self._link(), self._start_check(), *models)

    def _link(self) -> DiagnosticStatus:
        loop, reading = self._loop, self._reading
        level = ERROR if loop.latched else OK if loop.state is LoopState.CONTROLLING else WARN
        pairs: dict[str, Any] = {'state': loop.state.value, 'last stop': loop.last_stop}
        if reading is not None:
            pairs.update(
                {
                    'robot mode': reading.mode,
                    'robot errors': reading.errors,
                    'commands received by the robot [%]': 100.0 * reading.received,
                }
            )
        return self.status(
            'FCI',
            level,
            loop.reason,
            {
                **pairs,
                'states lost': self._lost,
                'states lost while commanding': self._unanswered,
                'commands': loop.written,
                'cut by a limit': loop.cut,
                'messages refused': self.refused,
                'loop period p50 [ms]': 1e3 * self._periods.percentile(50),
                'loop period p99 [ms]': 1e3 * self._periods.percentile(99),
                'answer time p50 [us]': 1e6 * self._answers.percentile(50),
                'answer time p99 [us]': 1e6 * self._answers.percentile(99),
            },
        )

    def _start_check(self) -> DiagnosticStatus:
        result = self._preflight.result
        level = {PreflightVerdict.REFUSED: ERROR, PreflightVerdict.NO_EVIDENCE: WARN}.get(
            result.verdict, OK
        )
        return self.status(
            'Check at rest',
            level,
            result.sentence,
            {'verdict': result.verdict.value, 'largest |tau_J - g| [N m]': result.largest},
        )

    def _model(self, difference: ModelDifference) -> DiagnosticStatus:
        refusal = self._preflight.model_refusal
        checked = self._controller.crosscheck
        return self.status(
            'Model',
            ERROR if refusal else OK,
            refusal or difference.sentence(),
            {
                **{
                    f'largest difference of {name} [{term.unit}]': term.largest
                    for name, term in difference.terms.items()
                },
                'running cross-check: largest difference [N m]': checked.largest,
                'running cross-check: checks': checked.checks,
            },
        )
