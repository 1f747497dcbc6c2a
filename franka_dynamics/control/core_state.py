# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
State machine of the core: states, transitions and status texts.

TRANSITIONS has all changes but that of `reset`, which makes the core SILENT; an event without a
row changes nothing. `ending.py` has what ends torques.

Each joint state is answered by the law while RUNNING, and by the brake while BRAKING or HOLDING: a
brake without gains still slows the arm by its model, but does not pull it back. In the other two
states the torque goes, at its rate, to the resting torque: zero if the target adds gravity, else
g(q) of where the arm is, and zero after what ends in `Then.ZERO`. An arm that moved when it was
seen last is first brought to rest by its model; its resting torque is that of where this ended. A
node sends nothing while SILENT.

In every state in which a torque acts, a torque that departs from what the model explains, or a
joint that is too fast, makes the core brake and hold the arm. It lets go of the arm only where
what the brake sends cannot arrive (`wiring.py`), or where braking fails. An arm that was let go is
not watched any more, nor one that rests under a target which adds gravity. An arm that falls while
its torques are refused, as under a mounting that nobody declared, is braked and held, too.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .ending import Cause, Remedy, Then


class State(str, Enum):
    """States of the core: which torque is sent, and why."""

    SILENT = 'silent'  # a node sends nothing, a loop gets the resting torque
    RUNNING = 'running'
    BRAKING = 'braking'  # the arm is brought to rest
    HOLDING = 'holding'  # the arm is held at rest until the fault is cleared, or states cease
    STOPPING = 'stopping'  # the torque goes to the resting torque; no joint state is needed


# In these states the control law or the brake answers each joint state.
ACTIVE = (State.RUNNING, State.BRAKING, State.HOLDING)


class Event(str, Enum):
    """Events that change the state of the core."""

    BEGIN = 'the first torque is allowed, or the fault of a held arm is cleared'
    RELEASE = 'torques end, and the arm is to be braked and let go'
    HOLD = 'the arm is to be braked and held'
    LOST = 'torques end, and the arm is let go without braking'
    REST = 'the braked arm is at rest'
    REST_HELD = 'the braked arm is at rest, and is to be held'
    END = 'the resting torque is reached'


TRANSITIONS = {
    (State.SILENT, Event.BEGIN): State.RUNNING,
    (State.SILENT, Event.HOLD): State.BRAKING,
    (State.RUNNING, Event.RELEASE): State.BRAKING,
    (State.RUNNING, Event.HOLD): State.BRAKING,
    (State.RUNNING, Event.LOST): State.STOPPING,
    (State.BRAKING, Event.REST): State.STOPPING,
    (State.BRAKING, Event.REST_HELD): State.HOLDING,
    (State.BRAKING, Event.LOST): State.STOPPING,
    (State.HOLDING, Event.BEGIN): State.RUNNING,
    (State.HOLDING, Event.RELEASE): State.STOPPING,
    (State.HOLDING, Event.LOST): State.STOPPING,
    (State.STOPPING, Event.BEGIN): State.RUNNING,
    (State.STOPPING, Event.HOLD): State.BRAKING,
    (State.STOPPING, Event.END): State.SILENT,
}


# The event that an ending is, by what the arm gets then.
ENDING_EVENTS = {
    Then.RELEASE: Event.RELEASE,
    Then.HOLD: Event.HOLD,
    Then.RESTING_TORQUE: Event.LOST,
    Then.UNSEEN: Event.LOST,
    Then.COAST: Event.LOST,
    Then.ZERO: Event.LOST,
}


class Stop(Enum):
    """What follows a stop; all but LET_GO, and PAUSE until `blocked` ends, latch a fault."""

    LET_GO = Cause.STOPPED
    HOLD = Cause.TOLD_TO_HOLD
    TO_ZERO = Cause.WRONG_RECEIVER
    PAUSE = Cause.RECEIVER_PAUSES
    FINAL = Cause.MODEL_CHANGED


class Status(NamedTuple):
    """State of the core, its reason, the remedy, and whether a fault is latched."""

    state: State
    why: str
    remedy: Remedy | str
    faulty: bool

    def __str__(self) -> str:
        """Return state, reason and remedy in one sentence."""
        said = self.remedy.value if isinstance(self.remedy, Remedy) else self.remedy
        return f'{self.state.value}: {self.why}' + (said and f'; to command again: {said}')
