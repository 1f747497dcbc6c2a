# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""States of the torque controller with their transitions, its stops and its status."""

from enum import Enum
from typing import NamedTuple

from .core_table import ACTIVE_STATES as ACTIVE_STATES
from .core_table import Cause, Remedy, State


class StateEvent(Enum):
    """Events that change the controller's state."""

    BEGIN = 'the law begins'
    BRAKE = 'the arm is to be braked'
    LET_GO = 'torques end without braking'
    AT_REST = 'the braked arm is at rest and is let go'
    AT_REST_HELD = 'the braked arm is at rest and is to be held'
    AT_RESTING_TORQUE = 'the resting torque is reached'


# An event without a row does not happen in that state. `reset` leads to SILENT from anywhere.
TRANSITIONS = {
    (State.SILENT, StateEvent.BEGIN): State.RUNNING,
    (State.SILENT, StateEvent.BRAKE): State.BRAKING,
    (State.RUNNING, StateEvent.BRAKE): State.BRAKING,
    (State.RUNNING, StateEvent.LET_GO): State.STOPPING,
    (State.BRAKING, StateEvent.AT_REST): State.STOPPING,
    (State.BRAKING, StateEvent.AT_REST_HELD): State.HOLDING,
    (State.BRAKING, StateEvent.LET_GO): State.STOPPING,
    (State.HOLDING, StateEvent.BEGIN): State.RUNNING,
    (State.HOLDING, StateEvent.LET_GO): State.STOPPING,
    (State.STOPPING, StateEvent.BEGIN): State.RUNNING,
    (State.STOPPING, StateEvent.BRAKE): State.BRAKING,
    (State.STOPPING, StateEvent.AT_RESTING_TORQUE): State.SILENT,
}


class Stop(Enum):
    """Kinds of stop that a user can request, with different torques after them or remedies."""

    LET_GO = Cause.STOP_REQUESTED
    HOLD = Cause.HOLD_REQUESTED
    TO_ZERO = Cause.WRONG_RECEIVER
    PAUSE = Cause.RECEIVER_PAUSES
    FINAL = Cause.MODEL_CHANGED


class Status(NamedTuple):
    """The controller's state, its reason, the user's remedy, and whether a fault is latched."""

    state: State
    why: str
    remedy: Remedy | str
    faulty: bool

    def __str__(self) -> str:
        """Return state, reason and, if there is one, the remedy as one text."""
        said = self.remedy.value if isinstance(self.remedy, Remedy) else self.remedy
        advice = f'; to command again: {said}' if said else ''
        return f'{self.state.value}: {self.why}{advice}'
