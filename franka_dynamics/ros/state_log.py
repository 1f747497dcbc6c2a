# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One line of log for each change of the controller's state, with its reason."""

from __future__ import annotations

from typing import Any

from ..control.cycle import Mode
from ..control.feedforward import FeedforwardController

# A simulated clock that has not moved for this long [s] stands still.
CLOCK_STANDS_AFTER_S = 1.0


class StateLog:
    """
    Compares the controller's state with the one that was told last.

    Parameters
    ----------
    node : Node
        Whose logger is used.
    controller : FeedforwardController
        Whose state is told.

    """

    def __init__(self, node: Any, controller: FeedforwardController) -> None:
        self._logger, self._controller = node.get_logger(), controller
        self._mode, self._fault = controller.mode, controller.conflict
        self._commanded = False

    def activated(self, topic: str) -> None:
        """Say that the node listens from now on."""
        self._commanded = False
        self._logger.info(f'activated: commands begin once the states on {topic} are trusted')

    def note(self) -> None:
        """Say what has changed since the last call, if anything; cheap, for every cycle."""
        controller = self._controller
        if controller.mode is not self._mode:
            self._mode = controller.mode
            self._tell_mode(controller)
        if controller.conflict != self._fault:
            self._fault = controller.conflict
            if self._fault:
                self._logger.error(f'held off: {self._fault}')
            else:
                self._logger.info(
                    'no longer held off: what the fault was about has changed, or '
                    'it was acknowledged'
                )

    def _tell_mode(self, controller: FeedforwardController) -> None:
        if self._mode is Mode.RUNNING:
            again = ' again' if self._commanded else ''
            self._commanded = True
            self._logger.info(
                f'commanding{again} (target {controller.settings.target}): '
                f'{controller.supervisor.reason}'
            )
        elif self._mode is Mode.SILENT:
            end = 'at the last gravity torque' if controller.holds_gravity else 'at zero torque'
            self._logger.info(f'silent: the stop sequence has ended {end}')
        else:
            doing = 'braking' if self._mode is Mode.BRAKING else 'stopping'
            self._logger.warning(f'{doing}: {controller.stop_reason}')


class ClockLog:
    """Tells a simulated clock that stands still, as while Gazebo is paused, from one that runs."""

    def __init__(self, node: Any) -> None:
        self._logger = node.get_logger()
        self._seen, self._moved_at = -1.0, 0.0
        self.stands = False

    def note(self, clock: float, now: float) -> None:
        """
        Look at the clock.

        Parameters
        ----------
        clock : float
            Simulated time [s].
        now : float
            Steady time [s].

        """
        if clock != self._seen:
            if self.stands:
                self._logger.info(f'simulated time goes on at {clock:.3f} s')
            self._seen, self._moved_at, self.stands = clock, now, False
        elif not self.stands and now - self._moved_at > CLOCK_STANDS_AFTER_S:
            self.stands = True
            self._logger.info(
                f'simulated time stands still at {clock:.3f} s: the last torque is held until it '
                'goes on'
                if clock
                else 'no time has come on /clock, which use_sim_time waits for'
            )
