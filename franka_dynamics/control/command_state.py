# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a controller commands: enabled, braking, in its stop sequence, silent, at fault."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum

import numpy as np

from .braking import Braking, REST_SPEED
from .control_law import ControlLaw
from .cycle_result import Counters, Mode
from .limits import CommandOutput
from .possible_motion import Condition
from .reference import ReferenceSource
from .settings import Stop
from .supervision import StateSupervisor, SupervisionLimits
from ..arm import ArmDescription
from ..typing import Array

RESTART_WINDOW_S = 60.0


class ClearedBy(int, Enum):
    """What clears a fault; a later one clears the earlier ones too."""

    SETTINGS = 1  # a change of the settings it is about, or an acknowledgement
    ACKNOWLEDGEMENT = 2
    ACTIVATION = 3
    CONFIGURATION = 4


class FaultLatch:
    """
    At most one fault: the gravest that is present, and of equally grave ones the first.

    Parameters
    ----------
    max_restarts : int
        Stops within RESTART_WINDOW_S after which the controller may start again by itself; one
        more latches.

    """

    def __init__(self, max_restarts: int) -> None:
        self._max_restarts = max_restarts
        self._stops: deque[float] = deque()
        self._touched_by: frozenset[str] = frozenset()
        self._until = ClearedBy.SETTINGS
        self.reason = ''
        self.latched = 0  # how often a fault was latched
        self.restarts = 0  # how often the controller started again without being asked

    def latch(self, reason: str, until: ClearedBy, touched_by: Iterable[str] = ()) -> None:
        """
        Latch a fault, unless a graver one is present or the same is.

        Parameters
        ----------
        reason : str
            One sentence for people.
        until : ClearedBy
            What clears it.
        touched_by : iterable of str
            With ClearedBy.SETTINGS, the names of the Settings whose change clears it.

        """
        if self.reason and until <= self._until:
            return
        self.reason, self._until, self._touched_by = reason, until, frozenset(touched_by)
        self.latched += 1

    def note_stop(self, reason: str, now: float) -> None:
        """Count a stop that ends by itself at `now` (steady clock, [s]); too many latch."""
        self._stops.append(now)
        while self._stops and now - self._stops[0] > RESTART_WINDOW_S:
            self._stops.popleft()
        if len(self._stops) > self._max_restarts:
            self.latch(
                f'stopped {len(self._stops)} times within {RESTART_WINDOW_S:.0f} s, the '
                f'last time because {reason}',
                ClearedBy.ACKNOWLEDGEMENT,
            )

    def settings_changed(self, changed: Iterable[str]) -> None:
        """Clear a fault that one of these settings is about."""
        if self._until is ClearedBy.SETTINGS and not self._touched_by.isdisjoint(changed):
            self.reason = ''

    def acknowledge(self) -> tuple[bool, str]:
        """Clear what a person may clear; return whether there is no fault now, and a sentence."""
        if not self.reason:
            self._stops.clear()
            return True, 'there was no fault'
        if self._until > ClearedBy.ACKNOWLEDGEMENT:
            way = (
                'deactivate and activate the node'
                if self._until is ClearedBy.ACTIVATION
                else 'clean the node up and configure it again'
            )
            return False, f'this fault is not cleared by acknowledging it; {way}: {self.reason}'
        self._clear()
        return True, 'cleared; the controller starts again once the states are trusted'

    def activated(self) -> None:
        """Clear what activation clears, and count restarts anew."""
        if self._until <= ClearedBy.ACTIVATION:
            self._clear()

    def _clear(self) -> None:
        self.reason = ''
        self._until = ClearedBy.SETTINGS
        self._stops.clear()


# What no arm does while its sensors and their driver are sound.
_LATCHING = frozenset(
    {
        Condition.NOT_FINITE,
        Condition.OUT_OF_RANGE,
        Condition.JUMPED,
        Condition.CONTRADICTORY,
        Condition.INTERLEAVED,
    }
)


# States that an arm may be braked with: those of a topic that is only slow, too.
_BRAKING = frozenset({Condition.TRUSTED, Condition.TOO_SLOW})


class CommandState:
    """
    Whether torques are commanded, and how they are taken back; what torques is its heir's affair.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    supervision : SupervisionLimits
        When a state is no longer trusted.

    """

    _law: ControlLaw  # which the heir makes and changes

    def __init__(self, description: ArmDescription, supervision: SupervisionLimits) -> None:
        self.description = description
        self.supervisor = StateSupervisor(description, supervision)
        self.reference = ReferenceSource()
        self.counters = Counters(largest_share=np.zeros(description.n))
        self.faults = FaultLatch(supervision.max_restarts)
        self.mode = Mode.SILENT
        self.stop_reason = ''
        self.enabled = False
        self._effort = description.limit('effort')
        self.output = CommandOutput(self._effort, description.limit('effort_rate'))
        self._braking = Braking(description)
        self._zero = np.zeros(description.n)
        self._last_gravity = self._zero  # the part of the last torque that held the arm
        self._latest: tuple[float, Array, Array] | None = None
        self._arrival = 0.0
        self._stop_goal, self._stop_holds = self._zero, False
        self._stopped_by_state = False
        self._rest: Array | None = None  # where the arm was left by the last stop

    @property
    def conflict(self) -> str:
        """The fault that keeps this silent, or an empty text."""
        return self.faults.reason

    @property
    def holds_gravity(self) -> bool:
        """Whether the last stop sequence ends, or ended, at the gravity torque."""
        return self._stop_holds

    @property
    def latest(self) -> tuple[float, Array, Array] | None:
        """Stamp [s], positions and velocities, shape (n,), of the last valid joint state."""
        return self._latest

    @property
    def stopping(self) -> bool:
        """Whether the stop sequence is under way, which needs no state."""
        return self.mode is Mode.STOPPING

    def enable(self) -> None:
        """Allow commands; they begin once the state is trusted."""
        self.enabled = True
        self.faults.activated()
        self._stopped_by_state = False
        self.counters = Counters(largest_share=np.zeros(self.description.n))

    def disable(self, reason: str, *, brake: bool = True) -> None:
        """Stop, and stay silent until enabled again."""
        self.enabled = False
        self.stop(reason, brake=brake)

    def stop(self, reason: str, *, to_zero: bool = False, brake: bool = True) -> None:
        """
        Take the torque back: braking first if the arm moves, then by the stop sequence.

        Braking needs states that are trusted and so goes on with the cycles; the stop sequence
        needs none. It ends at the target's own resting torque, or at zero where that would be
        wrong because somebody else carries the arm.

        Parameters
        ----------
        reason : str
            What is logged and diagnosed.
        to_zero : bool
            Whether the torque must go, because somebody else carries the arm; then nothing
            brakes.
        brake : bool
            Whether to brake at all.

        """
        if self.mode is Mode.RUNNING and self.output.last is None:
            self.mode = Mode.SILENT  # nothing was published, so there is nothing to take back
        elif self.mode is Mode.RUNNING:
            self._stop_holds = self._law.settings.profile.stop is Stop.HOLD_GRAVITY and not to_zero
            self.stop_reason = reason
            self.counters.stops += 1
            self.reference.clear()
            if brake and not to_zero and self._moves_and_is_trusted():
                self.mode = Mode.BRAKING
                self._braking.begin()
            else:
                self._begin_stop_sequence()
        elif self.mode is Mode.BRAKING and (
            to_zero or not brake or self.supervisor.condition not in _BRAKING
        ):
            self._stop_holds = self._stop_holds and not to_zero
            self.stop_reason += f'; not braked to rest: {reason}'
            self._begin_stop_sequence()

    def inhibit(
        self,
        reason: str,
        until: ClearedBy,
        *,
        to_zero: bool = False,
        touched_by: frozenset[str] = frozenset(),
    ) -> None:
        """Latch a fault: stop, and stay silent until it is cleared as `until` says."""
        self.faults.latch(reason, until, touched_by)
        self.stop(reason, to_zero=to_zero)

    def clear_fault(self) -> tuple[bool, str]:
        """Acknowledge the latched fault; return whether there is none now, and a sentence."""
        return self.faults.acknowledge()

    @property
    def rest_torque(self) -> Array:
        """Where a stop sequence from here would end, shape (n,) [N m]."""
        if self.mode is Mode.RUNNING:
            holds = self._law.settings.profile.stop is Stop.HOLD_GRAVITY
        elif self.mode is Mode.BRAKING:
            holds = self._stop_holds
        else:
            return self._stop_goal
        return self.output.clipped(self._last_gravity) if holds else self._zero

    def give_way(self, reason: str) -> None:
        """Fall silent without a word, because somebody else has taken the torque back."""
        self.faults.latch(reason, ClearedBy.ACTIVATION)
        self.stop_reason = reason
        self.counters.stops += 1
        self.reference.clear()
        self._rest = self._latest[1] if self._latest is not None else None
        self.mode = Mode.SILENT

    def stop_step(self, elapsed: float) -> Array | None:
        """
        Return the next torque of the stop sequence, or None when it has ended.

        Parameters
        ----------
        elapsed : float
            Time since the last published torque [s], by any clock.

        """
        if self.mode is not Mode.STOPPING:
            return None
        if self.output.last is None or np.array_equal(self.output.last, self._stop_goal):
            self.mode = Mode.SILENT
            return None
        return self.output.step(self._stop_goal, elapsed)

    def _begin_stop_sequence(self) -> None:
        goal = self._last_gravity if self._stop_holds else self._zero
        self._stop_goal = self.output.clipped(goal)
        self._rest = self._latest[1] if self._latest is not None else None
        self.mode = Mode.STOPPING

    def _moves_and_is_trusted(self) -> bool:
        return (
            self._latest is not None
            and self.supervisor.condition in _BRAKING
            and bool(np.abs(self._latest[2]).max() > REST_SPEED)
        )

    def _state_fault(self, condition: Condition, reason: str) -> None:
        """Stop because of the states; latch what no sound driver sends, and what comes often."""
        commanding = self.mode in (Mode.RUNNING, Mode.BRAKING) and self.output.last is not None
        self.stop(reason)
        if commanding and condition in _LATCHING:
            self.faults.latch(reason, ClearedBy.ACKNOWLEDGEMENT)
        elif commanding:
            self._stopped_by_state = True
            self.faults.note_stop(reason, self._arrival)
