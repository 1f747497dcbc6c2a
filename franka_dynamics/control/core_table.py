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


class Stop(Enum):
    """Kinds of stop that a user can request, with different torques after them or remedies."""

    LET_GO = Cause.STOP_REQUESTED
    HOLD = Cause.HOLD_REQUESTED
    TO_ZERO = Cause.WRONG_RECEIVER
    PAUSE = Cause.RECEIVER_PAUSES
    FINAL = Cause.MODEL_CHANGED


class Event(Enum):
    """What changes the state of the core, the torque or the settings; first the endings."""

    RELEASE = 'a stop'
    OWN_LAW_CEASES = "a law of one's own ceases while the arm moves"
    HOLD = 'a lasting disturbance, a joint too fast, or a stop that is to hold'
    REST = 'joint states are lost'
    IMPOSSIBLE = 'joint states are impossible, or of two sources'
    LEAVE = 'a torque not finite, braking fails, or a stop that is to hold at the resting torque'
    ZERO = 'a receiver is not the target'
    PAUSE = 'a receiver pauses'
    BEGIN = 'a state by which torques may begin without start()'
    SEEN = 'a state by which an arm that is to be held can be braked'
    AT_REST = 'the braked arm is at rest'
    AT_REST_HELD = 'the same after HOLD, or where g(q) does not carry the arm'
    AT_RESTING_TORQUE = 'the resting torque is sent'
    OWN_LAW_RETURNS = "a law of one's own gives torques again"
    START = 'start()'
    RESET = 'reset()'
    RESET_STOPPED = 'reset() after a stop by the user'
    CHANGE = 'change()'


class Torque(Enum):
    """The torque that an event brings."""

    SAME = 'as before'
    LAW_FROM_G = 'the law, by the ramp from G'
    LAW_FROM_LAST = 'the law, by the ramp from the last torque'
    LAW_FROM_FORMER_LAW = 'the law, by the ramp from the former one'
    BRAKE = 'the brake'
    RESTING = 'the resting torque'
    STOP_BY_MODEL = 'a stop by the model, then the resting torque'
    ZERO = 'zero'


class From(Enum):
    """The torque from which on an event counts."""

    AT_ONCE = 'this torque'
    NEXT = 'the next torque'


class Acting(Enum):
    """Which settings act after an event, and what those that are requested wait for."""

    SAME = 'as before'
    REQUESTED = 'those requested, by the ramp'
    WHEN_AGREED = 'those requested, once a state agrees, by the ramp'
    WAITING = 'those that act; those requested wait for start()'


class Row(NamedTuple):
    """
    What an event changes in a state; None stands for any.

    `after` limits the row to a reaction or a remedy of what has ended torques; None: any that no
    other row has. `to` is None where the call raises StartRefusedError and changes nothing.
    """

    state: State | None
    event: Event
    after: Reaction | Remedy | None
    to: State | None
    torque: Torque
    since: From
    settings: Acting


def _rows() -> tuple[Row, ...]:
    """Return the rows, in the order of the page."""
    silent, running, braking, holding, stopping = State
    now, later = From
    e, t, a = Event, Torque, Acting
    return (
        # In SILENT a node sends nothing, a loop the resting torque.
        Row(silent, e.BEGIN, None, running, t.LAW_FROM_G, now, a.REQUESTED),
        Row(silent, e.SEEN, None, braking, t.BRAKE, now, a.SAME),
        Row(silent, e.RELEASE, None, silent, t.SAME, later, a.WAITING),
        Row(silent, e.HOLD, None, silent, t.SAME, later, a.WAITING),
        Row(silent, e.LEAVE, None, silent, t.SAME, later, a.WAITING),
        Row(silent, e.ZERO, None, silent, t.ZERO, later, a.WAITING),
        Row(silent, e.PAUSE, None, silent, t.ZERO, later, a.SAME),
        Row(silent, e.START, None, silent, t.SAME, later, a.WHEN_AGREED),
        Row(silent, e.START, Reaction.HOLD, None, t.SAME, later, a.SAME),
        Row(silent, e.START, Remedy.CONFIGURE, None, t.SAME, later, a.SAME),
        # In RUNNING the law's torques are sent.
        Row(running, e.RELEASE, None, braking, t.BRAKE, later, a.WAITING),
        Row(running, e.OWN_LAW_CEASES, None, braking, t.BRAKE, now, a.WHEN_AGREED),
        Row(running, e.HOLD, None, braking, t.BRAKE, later, a.WAITING),
        Row(running, e.REST, None, stopping, t.STOP_BY_MODEL, now, a.WHEN_AGREED),
        Row(running, e.IMPOSSIBLE, None, stopping, t.STOP_BY_MODEL, now, a.WAITING),
        Row(running, e.LEAVE, None, stopping, t.RESTING, now, a.WAITING),
        Row(running, e.ZERO, None, stopping, t.ZERO, later, a.WAITING),
        Row(running, e.PAUSE, None, stopping, t.ZERO, later, a.WHEN_AGREED),
        Row(running, e.CHANGE, None, running, t.LAW_FROM_FORMER_LAW, later, a.REQUESTED),
        # In BRAKING the brake brings the arm to rest.
        Row(braking, e.AT_REST, None, stopping, t.RESTING, now, a.SAME),
        Row(braking, e.AT_REST_HELD, None, holding, t.SAME, now, a.SAME),
        Row(braking, e.OWN_LAW_RETURNS, None, running, t.LAW_FROM_LAST, now, a.REQUESTED),
        Row(braking, e.RELEASE, None, braking, t.SAME, later, a.WAITING),
        Row(braking, e.HOLD, None, braking, t.SAME, later, a.WAITING),
        Row(braking, e.REST, None, stopping, t.STOP_BY_MODEL, now, a.SAME),
        Row(braking, e.IMPOSSIBLE, None, stopping, t.STOP_BY_MODEL, now, a.WAITING),
        Row(braking, e.LEAVE, None, stopping, t.RESTING, now, a.WAITING),
        Row(braking, e.ZERO, None, stopping, t.ZERO, later, a.WAITING),
        Row(braking, e.PAUSE, None, stopping, t.ZERO, later, a.SAME),
        Row(braking, e.START, None, braking, t.SAME, later, a.WHEN_AGREED),
        Row(braking, e.START, Reaction.HOLD, None, t.SAME, later, a.SAME),
        Row(braking, e.START, Remedy.CONFIGURE, None, t.SAME, later, a.SAME),
        # In HOLDING the brake holds the arm where it came to rest.
        Row(holding, e.START, None, running, t.LAW_FROM_LAST, later, a.REQUESTED),
        Row(holding, e.START, Remedy.CONFIGURE, None, t.SAME, later, a.SAME),
        Row(holding, e.RELEASE, None, stopping, t.RESTING, later, a.WAITING),
        Row(holding, e.HOLD, None, holding, t.SAME, later, a.WAITING),
        Row(holding, e.REST, None, stopping, t.STOP_BY_MODEL, now, a.SAME),
        Row(holding, e.IMPOSSIBLE, None, stopping, t.STOP_BY_MODEL, now, a.WAITING),
        Row(holding, e.LEAVE, None, stopping, t.RESTING, now, a.WAITING),
        Row(holding, e.ZERO, None, stopping, t.ZERO, later, a.WAITING),
        Row(holding, e.PAUSE, None, stopping, t.ZERO, later, a.SAME),
        # In STOPPING the torque goes to the resting torque, without joint states.
        Row(stopping, e.AT_RESTING_TORQUE, None, silent, t.SAME, now, a.SAME),
        Row(stopping, e.BEGIN, None, running, t.LAW_FROM_G, now, a.REQUESTED),
        Row(stopping, e.SEEN, None, braking, t.BRAKE, now, a.SAME),
        Row(stopping, e.RELEASE, None, stopping, t.SAME, later, a.WAITING),
        Row(stopping, e.HOLD, None, stopping, t.SAME, later, a.WAITING),
        Row(stopping, e.LEAVE, None, stopping, t.SAME, later, a.WAITING),
        Row(stopping, e.ZERO, None, stopping, t.ZERO, later, a.WAITING),
        Row(stopping, e.PAUSE, None, stopping, t.ZERO, later, a.SAME),
        Row(stopping, e.START, None, stopping, t.SAME, later, a.WHEN_AGREED),
        Row(stopping, e.START, Reaction.HOLD, None, t.SAME, later, a.SAME),
        Row(stopping, e.START, Remedy.CONFIGURE, None, t.SAME, later, a.SAME),
        # In any state.
        Row(None, e.RESET, None, silent, t.RESTING, later, a.WHEN_AGREED),
        Row(None, e.RESET, Reaction.ZERO, silent, t.ZERO, later, a.SAME),
        Row(None, e.RESET_STOPPED, None, silent, t.RESTING, later, a.WAITING),
        Row(None, e.RESET_STOPPED, Reaction.ZERO, silent, t.ZERO, later, a.SAME),
        Row(None, e.RESET_STOPPED, Remedy.CONFIGURE, silent, t.RESTING, later, a.SAME),
    )


ROWS = _rows()


def row_of(state: State, event: Event, reaction: Reaction, remedy: Remedy) -> Row | None:
    """Return the row of an event in a state, after an ending; None: nothing changes."""
    found = None
    for row in ROWS_BY_EVENT.get((state, event), ()) or ROWS_BY_EVENT.get((None, event), ()):
        if row.after in (remedy, reaction):
            return row
        if row.after is None:
            found = row
    return found


ROWS_BY_EVENT: dict[tuple[State | None, Event], list[Row]] = {}
for _row in ROWS:
    ROWS_BY_EVENT.setdefault((_row.state, _row.event), []).append(_row)
