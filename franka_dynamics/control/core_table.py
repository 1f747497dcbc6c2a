# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The tables that decide what the controller does: `Cause` and `ROWS`.

`Cause` says of each thing that ends torques, or keeps them from beginning, what the arm gets then
and what the user must do. `ROWS` say what an event changes: the state, the torque and the settings
that act. The core reads both; `make generated` writes them for the C++ core and the page
docs/reference/what-stops-the-arm.md. Where a state and an event have no row, nothing changes.
"""

from enum import Enum
from typing import NamedTuple


class State(str, Enum):
    """States of the torque controller, which decide which torque is sent."""

    SILENT = 'silent'  # a node sends nothing, a loop gets the resting torque
    RUNNING = 'running'  # the control law's torque is sent
    BRAKING = 'braking'  # the arm is brought to rest
    HOLDING = 'holding'  # the arm is held at rest until the fault is cleared, or states cease
    STOPPING = 'stopping'  # the torque goes to the resting torque; no joint state is needed


# In these states the control law or the brake answers each joint state.
ACTIVE_STATES = (State.RUNNING, State.BRAKING, State.HOLDING)


class Reaction(str, Enum):
    """
    What the arm gets after the torques of the control law have ended.

    The columns: words; whether a reaction that comes while torques have ended already takes the
    place of the former one (of ZERO none does); whether a loop's resting torque is watched as the
    law's torques are.
    """

    replaces_former: bool
    is_watched: bool

    def __new__(cls, words: str, replaces_former: bool, is_watched: bool) -> 'Reaction':
        """Return a row of the table."""
        reaction = str.__new__(cls, words)
        reaction._value_ = words
        reaction.replaces_former = replaces_former
        reaction.is_watched = is_watched
        return reaction

    RELEASE = 'braked to rest, then the resting torque', True, True
    HOLD = 'braked to rest, then held', True, True
    REST = 'the resting torque until joint states can be used', False, True
    LEAVE = 'the resting torque; joint states are not trusted', True, False
    ZERO = 'zero torque', True, False


class Remedy(str, Enum):
    """
    What the user must do before torques begin again, from least to most effort.

    The columns: words, which a node says in its own terms; whether torques begin without `start`;
    whether a fault is latched, which stays until the user clears it (or for good).
    """

    begins_alone: bool
    is_fault: bool

    def __new__(cls, words: str, begins_alone: bool, is_fault: bool) -> 'Remedy':
        """Return a row of the table."""
        remedy = str.__new__(cls, words)
        remedy._value_ = words
        remedy.begins_alone = begins_alone
        remedy.is_fault = is_fault
        return remedy

    NONE = '', True, False
    WAIT = 'correct what it names, or wait', True, False
    START = 'start()', False, False
    # start() does not look whether the cause is gone, unless the arm is held.
    CLEAR = 'remove the cause, then clear the fault by start()', False, True
    # A new Feedforward; of a node, its transition `configure`.
    CONFIGURE = 'configure again', False, True


class Cause(Enum):
    """The table of what ends torques or keeps them waiting: words, reaction and remedy."""

    TORQUE_AWAITED = 'torques that have not begun yet', Reaction.REST, Remedy.WAIT
    STOP_REQUESTED = 'a stop', Reaction.RELEASE, Remedy.START
    OWN_LAW_CEASED = (
        "a law of one's own that ceases while the arm moves",
        Reaction.RELEASE,
        Remedy.WAIT,
    )
    STATES_LOST = 'joint states that cease or cannot be used', Reaction.REST, Remedy.WAIT
    STATE_IMPOSSIBLE = 'impossible joint states', Reaction.LEAVE, Remedy.CLEAR
    SECOND_SOURCE = 'joint states of two sources', Reaction.LEAVE, Remedy.CLEAR
    TORQUE_NOT_FINITE = 'a computed torque that is not finite', Reaction.LEAVE, Remedy.CLEAR
    BRAKING_FAILED = 'braking that makes the arm faster', Reaction.LEAVE, Remedy.CLEAR
    LASTING_DISTURBANCE = 'a lasting disturbance torque', Reaction.HOLD, Remedy.CLEAR
    JOINT_TOO_FAST = 'a joint that is too fast', Reaction.HOLD, Remedy.CLEAR
    HOLD_REQUESTED = 'a stop that is to hold the arm', Reaction.HOLD, Remedy.CLEAR
    # The same in SILENT and STOPPING: nothing that rests is caught.
    HOLD_WITHOUT_TORQUE = (
        'a stop that is to hold an arm at its resting torque',
        Reaction.LEAVE,
        Remedy.CLEAR,
    )
    NOT_CARRIED = (
        'a stop of an arm that g(q) does not carry',
        Reaction.HOLD,
        Remedy.START,
    )
    WRONG_RECEIVER = 'a receiver that is not the target', Reaction.ZERO, Remedy.CLEAR
    RECEIVER_PAUSES = (
        'a receiver that is unknown or applies no torque',
        Reaction.ZERO,
        Remedy.WAIT,
    )
    MODEL_CHANGED = 'a model that is not the arm', Reaction.RELEASE, Remedy.CONFIGURE

    @property
    def words(self) -> str:
        """What ends torques, as text."""
        return self.value[0]

    @property
    def reaction(self) -> Reaction:
        """What the arm gets after torques that this cause ended."""
        return self.value[1]

    @property
    def remedy(self) -> Remedy:
        """What the user must do before torques begin again."""
        return self.value[2]


class Event(Enum):
    """
    What changes the state of the core, the torque or the settings.

    The first six are endings, by the reaction of their `Cause`.
    """

    RELEASE = 'an ending by RELEASE'
    HOLD = 'an ending by HOLD'
    REST = 'an ending by REST, as joint states are lost'
    IMPOSSIBLE = 'an ending by LEAVE, as joint states are impossible or of two sources'
    LEAVE = 'another ending by LEAVE'
    ZERO = 'an ending by ZERO'
    BEGIN = 'a state by which torques may begin without start()'
    SEEN = 'a state by which an arm that is to be held can be braked'
    AT_REST = 'the braked arm is at rest'
    AT_REST_HELD = 'the same, after HOLD, or if g(q) does not carry the arm'
    AT_RESTING_TORQUE = 'the resting torque is sent'
    OWN_LAW_RETURNS = 'the law that ceased gives torques again'
    START = 'start()'
    RESET = 'reset()'
    CHANGE = 'change() of settings'


class Torque(Enum):
    """The torque that an event brings."""

    SAME = 'as before'
    LAW_FROM_G = 'the law, by a ramp of 0.2 s from G'
    LAW_FROM_LAST = 'the law, by a ramp of 0.2 s from the last torque'
    LAW_FROM_FORMER_LAW = 'the law, by a ramp of 0.2 s from the former one'
    BRAKE = 'the brake'
    HELD = 'the brake, at the pose of now'
    RESTING = 'the resting torque'
    STOP_BY_MODEL = 'a stop by the model, then the resting torque'
    ZERO = 'zero'


class From(Enum):
    """The torque from which on an event counts."""

    AT_ONCE = 'this torque'
    NEXT = 'the next torque'


class Acting(Enum):
    """Which settings act after an event."""

    SAME = 'those that act'
    KEPT = 'those that act; the brake keeps its gains until start()'
    REQUESTED = 'those requested, by the ramp'
    WHEN_AGREED = 'those requested, once a usable state agrees, in a loop by the ramp'
    WAITING = 'those that act; those requested wait for start(), or until the law may begin'


class Row(NamedTuple):
    """
    What an event changes in a state.

    `after` limits the row to a reaction or a remedy of what has ended torques; None: all others.
    `to` is None where the call raises StartRefusedError and changes nothing.
    """

    state: State
    event: Event
    after: Reaction | Remedy | None
    to: State | None
    torque: Torque
    since: From
    settings: Acting


def _rows() -> tuple[Row, ...]:
    """Return the rows, in the order of the page."""
    silent, running, braking, holding, stopping = State
    this, following = From
    e, t, a = Event, Torque, Acting
    return (
        # Nothing is sent by the law: states decide when it begins.
        Row(silent, e.BEGIN, None, running, t.LAW_FROM_G, this, a.REQUESTED),
        Row(silent, e.SEEN, None, braking, t.BRAKE, this, a.KEPT),
        Row(silent, e.RELEASE, None, silent, t.RESTING, following, a.WAITING),
        Row(silent, e.HOLD, None, silent, t.RESTING, following, a.WAITING),
        Row(silent, e.LEAVE, None, silent, t.RESTING, following, a.WAITING),
        Row(silent, e.ZERO, None, silent, t.ZERO, following, a.SAME),
        Row(silent, e.START, None, silent, t.SAME, following, a.WHEN_AGREED),
        Row(silent, e.START, Reaction.HOLD, None, t.SAME, following, a.WAITING),
        Row(silent, e.START, Remedy.CONFIGURE, None, t.SAME, following, a.WAITING),
        Row(silent, e.CHANGE, None, silent, t.SAME, following, a.WAITING),
        Row(silent, e.CHANGE, Remedy.WAIT, silent, t.SAME, following, a.WHEN_AGREED),
        Row(silent, e.RESET, None, silent, t.RESTING, following, a.SAME),
        # The law's torques are sent.
        Row(running, e.RELEASE, None, braking, t.BRAKE, following, a.KEPT),
        Row(running, e.HOLD, None, braking, t.BRAKE, following, a.KEPT),
        Row(running, e.REST, None, stopping, t.STOP_BY_MODEL, this, a.SAME),
        Row(running, e.IMPOSSIBLE, None, stopping, t.STOP_BY_MODEL, this, a.WAITING),
        Row(running, e.LEAVE, None, stopping, t.RESTING, this, a.WAITING),
        Row(running, e.ZERO, None, stopping, t.ZERO, following, a.SAME),
        Row(running, e.START, None, running, t.SAME, following, a.SAME),
        Row(running, e.CHANGE, None, running, t.LAW_FROM_FORMER_LAW, following, a.REQUESTED),
        Row(running, e.RESET, None, silent, t.RESTING, following, a.SAME),
        # The brake brings the arm to rest.
        Row(braking, e.AT_REST, None, stopping, t.RESTING, this, a.SAME),
        Row(braking, e.AT_REST_HELD, None, holding, t.HELD, this, a.KEPT),
        Row(braking, e.OWN_LAW_RETURNS, None, running, t.LAW_FROM_LAST, this, a.REQUESTED),
        Row(braking, e.RELEASE, None, braking, t.SAME, following, a.KEPT),
        Row(braking, e.HOLD, None, braking, t.SAME, following, a.KEPT),
        Row(braking, e.REST, None, stopping, t.STOP_BY_MODEL, this, a.SAME),
        Row(braking, e.IMPOSSIBLE, None, stopping, t.STOP_BY_MODEL, this, a.WAITING),
        Row(braking, e.LEAVE, None, stopping, t.RESTING, this, a.WAITING),
        Row(braking, e.ZERO, None, stopping, t.ZERO, following, a.SAME),
        Row(braking, e.START, None, braking, t.SAME, following, a.KEPT),
        Row(braking, e.START, Reaction.HOLD, None, t.SAME, following, a.KEPT),
        Row(braking, e.START, Remedy.CONFIGURE, None, t.SAME, following, a.KEPT),
        Row(braking, e.CHANGE, None, braking, t.SAME, following, a.WAITING),
        Row(braking, e.RESET, None, silent, t.RESTING, following, a.SAME),
        # The brake holds the arm.
        Row(holding, e.START, None, running, t.LAW_FROM_LAST, following, a.REQUESTED),
        Row(holding, e.START, Remedy.CONFIGURE, None, t.SAME, following, a.KEPT),
        Row(holding, e.RELEASE, None, stopping, t.RESTING, following, a.WAITING),
        Row(holding, e.HOLD, None, holding, t.SAME, following, a.KEPT),
        Row(holding, e.REST, None, stopping, t.STOP_BY_MODEL, this, a.KEPT),
        Row(holding, e.IMPOSSIBLE, None, stopping, t.STOP_BY_MODEL, this, a.WAITING),
        Row(holding, e.LEAVE, None, stopping, t.RESTING, this, a.WAITING),
        Row(holding, e.ZERO, None, stopping, t.ZERO, following, a.WAITING),
        Row(holding, e.CHANGE, None, holding, t.SAME, following, a.WAITING),
        Row(holding, e.RESET, None, silent, t.RESTING, following, a.SAME),
        # The torque goes to the resting torque.
        Row(stopping, e.AT_RESTING_TORQUE, None, silent, t.RESTING, this, a.SAME),
        Row(stopping, e.BEGIN, None, running, t.LAW_FROM_G, this, a.REQUESTED),
        Row(stopping, e.SEEN, None, braking, t.BRAKE, this, a.KEPT),
        Row(stopping, e.RELEASE, None, stopping, t.SAME, following, a.WAITING),
        Row(stopping, e.HOLD, None, stopping, t.SAME, following, a.WAITING),
        Row(stopping, e.LEAVE, None, stopping, t.SAME, following, a.WAITING),
        Row(stopping, e.ZERO, None, stopping, t.ZERO, following, a.SAME),
        Row(stopping, e.START, None, stopping, t.SAME, following, a.WHEN_AGREED),
        Row(stopping, e.START, Reaction.HOLD, None, t.SAME, following, a.WAITING),
        Row(stopping, e.START, Remedy.CONFIGURE, None, t.SAME, following, a.WAITING),
        Row(stopping, e.CHANGE, None, stopping, t.SAME, following, a.WAITING),
        Row(stopping, e.CHANGE, Remedy.WAIT, stopping, t.SAME, following, a.WHEN_AGREED),
        Row(stopping, e.RESET, None, silent, t.RESTING, following, a.SAME),
    )


ROWS = _rows()
