# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Plays the core's table: an oracle that shares no code with the core, and a core beside it.

The arm has one joint and no gains, so that torques follow in closed form: m g l cos q, the torque
of a law of one's own, and the ramp. A joint state is usable after MIN_COUNT of them. What a check
of the guard finds, whether settings agree and whether g(q) carries the arm are flags.
"""

from dataclasses import dataclass, field
import math

from franka_dynamics.arm_io import load_arm
from franka_dynamics.control import feedforward, state_check, stopping
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.core_table import (
    Acting,
    Cause,
    Event,
    From,
    Reaction,
    Remedy,
    ROWS,
    State,
    Stop,
    Torque,
)
from franka_dynamics.control.ending import ending_by, ReasonCode
from franka_dynamics.control.feedforward import Feedforward, StateLimits
from franka_dynamics.errors import StartRefusedError

MIN_COUNT = 5  # with fewer, two gaps in a row count as rare states
RAMP_S = 0.2
OWN_NM = 5.0
_ARM = load_arm(
    '<robot name="one"><link name="a"/><joint name="j1" type="revolute"><parent link="a"/>'
    '<child link="b"/><origin xyz="0 0 .3"/><axis xyz="0 -1 0"/>'
    '<limit lower="-3" upper="3" velocity="3" effort="60"/></joint><link name="b"><inertial>'
    '<mass value="2"/><origin xyz=".3 0 0"/><inertia ixx=".02" iyy=".021" izz=".022" ixy="0" '
    'ixz="0" iyz="0"/></inertial></link></robot>'
)
ACTIVE = (State.RUNNING, State.BRAKING, State.HOLDING)
LAW = (Torque.LAW_FROM_G, Torque.LAW_FROM_LAST, Torque.LAW_FROM_FORMER_LAW)
# What a stop by the user is, by the table of causes.
_EVENT_OF_STOP = {
    Stop.LET_GO: (Event.RELEASE, Cause.STOP_REQUESTED),
    Stop.HOLD: (Event.HOLD, Cause.HOLD_REQUESTED),
    Stop.TO_ZERO: (Event.ZERO, Cause.WRONG_RECEIVER),
    Stop.PAUSE: (Event.PAUSE, Cause.RECEIVER_PAUSES),
    Stop.FINAL: (Event.RELEASE, Cause.MODEL_CHANGED),
}


def gravity_torque(q, load):
    """Return the torque that carries 2 kg at 0.3 m, and a load at its flange, by hand [N m]."""
    return 9.81 * 2.0 * 0.3 * math.cos(q) + 9.81 * load * LOAD_M * math.cos(q)


LOAD_M = 0.2  # from the joint's axis, along x
STOP_S = 0.25  # of a stop by the model
STOP_TIME_CONSTANT_S = 0.1


def inertia(load):
    """Return the joint's inertia with a load at its flange, by hand [kg m^2]."""
    return 0.021 + 2.0 * 0.3**2 + load * LOAD_M**2


@dataclass
class Oracle:
    """What the rows say of the present state; `torque` is None where this oracle cannot tell."""

    rows: tuple = ROWS
    state: State = State.SILENT
    reaction: Reaction = Reaction.REST
    remedy: Remedy = Remedy.WAIT
    kind: Torque = Torque.RESTING
    rule: Acting = Acting.WHEN_AGREED
    requested: float = 0.0  # loads [kg]
    acting: float = 0.0
    agreed: bool = False
    stopped: bool = False
    good: int = 0
    rest: int = 0  # states at rest since braking began
    braked_s: float = 0.0  # time since then [s]
    first_speed: float = 0.0  # the largest of its first 50 ms [rad/s]
    now: float = 1.0
    q: float | None = None  # where the arm was seen last
    speed: float = 0.0
    seen_at: float = -math.inf
    has_speed: bool = True  # whether the speed is that of the last state
    stop_until: float = -math.inf  # of a stop by the model
    own: float | None = None
    last: float | None = None  # the torque sent last
    torque: float | None = None
    offset: float = 0.0
    ramp_begin: float = -math.inf
    source: tuple | None = None  # load and own torque of the law's last torque
    start: float | None = None
    flags: set = field(default_factory=set)  # blocked, disagrees, not carried, excess
    phase: From = From.NEXT  # whether the torque of now is still to be sent
    fails: bool = False  # the brake
    used: list = field(default_factory=list)  # rows
    is_late: bool = False  # whether an event counted from another torque than its row says

    def row(self, event, reaction, remedy):
        of_event = [row for row in self.rows if row.event is event]
        named = [row for row in of_event if row.state is self.state]
        found = named or [row for row in of_event if row.state is None]
        after = [row for row in found if row.after is not None and row.after in (reaction, remedy)]
        rest = [row for row in found if row.after is None]
        return (after + rest + [None])[0]

    def happen(self, event, former=None):
        """Let an event happen; return whether the call is accepted."""
        row = self.row(event, *(former or (self.reaction, self.remedy)))
        if row is None:
            return True
        self.used.append(row)
        if row.to is None:
            return False
        self.is_late |= row.since is not self.phase
        self.state = row.to
        if row.to is not State.RUNNING:
            self.source = None
            if row.state is State.RUNNING:
                self.offset = 0.0
        if row.settings is Acting.REQUESTED:
            self.use(self.requested)
            self.rule = Acting.WHEN_AGREED
        elif row.settings is not Acting.SAME:
            self.rule = row.settings
        if row.torque is Torque.SAME:
            return True
        self.kind = row.torque
        if row.torque in (Torque.LAW_FROM_G, Torque.LAW_FROM_LAST):
            g = gravity_torque(self.q, self.acting)
            self.start = self.last
            if row.torque is Torque.LAW_FROM_G:
                self.start = g + self.ramp()
                self.last = g if self.last is None else self.last
            self.source = None
            self.offset = 0.0
            self.reaction, self.remedy = Reaction.REST, Remedy.NONE
            self.agreed = True
        elif row.torque is Torque.BRAKE:
            self.rest, self.braked_s, self.first_speed = 0, 0.0, 0.0
            self.agreed = True
        elif row.torque is Torque.STOP_BY_MODEL and self.speed > 0.02:
            self.stop_until = self.now + STOP_S
            self.seen_at = self.now
        return True

    def end(self, event, cause):
        former = self.reaction, self.remedy
        lasts = former[0] is Reaction.ZERO or not former[1].begins_alone
        if lasts or self.state in (State.BRAKING, State.HOLDING):
            order = list(Remedy)
            self.remedy = max(self.remedy, cause.remedy, key=order.index)
            if self.reaction is not Reaction.ZERO and cause.reaction is not Reaction.REST:
                self.reaction = cause.reaction
        else:
            self.reaction, self.remedy = cause.reaction, cause.remedy
        self.happen(event, former)

    def wait(self):
        if self.reaction is not Reaction.ZERO:
            self.reaction = Reaction.REST
        self.remedy = Remedy.WAIT

    # The ramp and the torques --------------------------------------------------------------------
    def ramp(self):
        passed = self.now - self.ramp_begin
        return 0.0 if passed >= RAMP_S else (1.0 - passed / RAMP_S) * self.offset

    def fade(self, difference):
        if not math.isfinite(difference):
            return
        self.offset = self.ramp() + difference
        self.ramp_begin = self.now

    def use(self, load):
        if load == self.acting:
            return
        before = self.resting()
        self.acting = load
        if self.state not in ACTIVE and before is not None:
            self.fade(before - (self.resting() - self.ramp()) - self.ramp())

    def brake(self, elapsed):
        """Count states at rest, and note whether the joint gets too fast."""
        self.rest = self.rest + 1 if self.speed < 0.04 else 0
        self.braked_s += elapsed
        if self.braked_s <= 0.05:
            self.first_speed = max(self.first_speed, self.speed)
        self.fails = self.braked_s > 0.05 and self.speed > max(2.0 * 3.0, self.first_speed)

    def resting(self):
        """Return the resting torque, None if d is a part of it."""
        if self.q is None or self.kind is Torque.ZERO or not self.agreed:
            return self.ramp()
        place = self.where()
        if self.reaction is Reaction.HOLD or place is None:
            return None
        return gravity_torque(place, self.acting) + self.ramp()

    def where(self):
        """Return where the arm is by the model since it was seen, None if not known."""
        if self.stop_until == -math.inf:
            return self.q
        if not self.has_speed:
            return None
        gone = 1.0 - math.exp(-(self.now - self.seen_at) / STOP_TIME_CONSTANT_S)
        return self.q + gone * STOP_TIME_CONSTANT_S * self.speed

    def stopping_torque(self):
        """Return the torque by which the model stops the arm, None if its speed is not known."""
        place = self.where()
        if place is None:
            return None
        left = math.exp(-(self.now - self.seen_at) / STOP_TIME_CONSTANT_S)
        slowing = inertia(self.acting) * left * self.speed / STOP_TIME_CONSTANT_S
        return gravity_torque(place, self.acting) - slowing

    def law(self):
        own = self.own or 0.0
        desired = gravity_torque(self.q, self.acting) + own
        source, self.source = self.source, (self.acting, self.own)
        if source is None:
            self.fade((desired if self.start is None else self.start) - desired)
        elif source != self.source:
            self.fade(gravity_torque(self.q, source[0]) + (source[1] or 0.0) - desired)
        return desired + self.ramp()

    def send(self, desired, elapsed):
        self.phase = From.NEXT
        if desired is None:
            self.torque = None
            return
        limited = max(-60.0, min(60.0, desired))
        if self.last is not None:
            step = 1e3 * min(1e-3, elapsed)
            limited = max(self.last - step, min(self.last + step, limited))
        self.torque = self.last = limited

    def without_state(self, elapsed):
        self.phase = From.NEXT
        if self.state in ACTIVE:
            self.torque = self.last
            return
        is_by_model = self.kind is Torque.STOP_BY_MODEL and self.now < self.stop_until
        if self.state is State.STOPPING and is_by_model:
            self.send(self.stopping_torque(), elapsed)
            return
        resting = self.resting()
        self.send(resting, elapsed)
        self.phase = From.AT_ONCE  # of the torque that was sent just now
        if self.state is State.STOPPING and resting is not None and self.torque == resting:
            self.happen(Event.AT_RESTING_TORQUE)
        self.phase = From.NEXT


class Pair:
    """A core and its oracle, which get the same events; `differs` says where they part."""

    def __init__(self, rows=ROWS):
        self.oracle = Oracle(rows)
        self.core = Feedforward(_ARM, 'mujoco', limits=StateLimits(max_state_age=0.0))
        self.core.checks = [self._check]
        reason = ReasonCode.CALLER_TEXT(text='test')
        flags = self.oracle.flags
        disturbances = self.core.disturbances
        disturbances.contradiction = lambda terms: reason if 'disagrees' in flags else None
        held = lambda *bounds: reason if 'not carried' in flags else None  # noqa: E731
        disturbances.violation = held
        disturbances.violation_at_start = held
        self.position = 0.2
        self.noise = 1e-13
        self.differs = ''

    def _check(self, state, bound):
        if 'excess' in self.oracle.flags:
            return ending_by(Cause.LASTING_DISTURBANCE, 'test')
        return None

    # What happens --------------------------------------------------------------------------------
    def usable(self, speed=0.0, own=None):
        o = self.oracle
        elapsed = self._pass(1e-3)
        self.position += 1e-3 * speed
        self.noise = -self.noise
        q = self.position + self.noise
        given = {} if own is None else {'torque': [own]}
        sent = self.core.step([q], [speed], o.now, **given)
        former_own, o.own = o.own, own
        count, self._state_count = self._state_count, self._state_count + 1
        if elapsed > 0.02 and count > 2:  # states are missing; of two nobody knows the period
            o.good = 0
            self._lose(Event.REST, Cause.STATES_LOST, elapsed)
            return self._compare('a state after a gap', sent)
        o.good += 1
        is_moving = abs(speed) > 0.02
        o.q, o.speed, o.seen_at = q, abs(speed), o.now
        # After LEAVE speeds are those by positions.
        o.has_speed = o.reaction is not Reaction.LEAVE
        if o.now >= o.stop_until:
            o.stop_until = -math.inf
        if o.state in ACTIVE:
            self._follow(speed, own, former_own, is_moving, elapsed)
        else:
            self._wait(is_moving, elapsed)
        return self._compare('a usable state', sent)

    def _follow(self, speed, own, former_own, is_moving, elapsed):
        o = self.oracle
        may_begin = 'blocked' not in o.flags and o.good >= MIN_COUNT
        if o.state is State.RUNNING and former_own is not None and own is None and is_moving:
            o.end(Event.OWN_LAW_CEASES, Cause.OWN_LAW_CEASED)
        elif o.state is State.BRAKING and own is not None:
            if o.remedy.begins_alone and may_begin:
                o.happen(Event.OWN_LAW_RETURNS)
        desired = None
        if o.kind is Torque.BRAKE:
            o.brake(elapsed)
            if o.fails:
                o.end(Event.LEAVE, Cause.BRAKING_FAILED)
            elif o.state is State.BRAKING and o.rest >= MIN_COUNT:
                if o.reaction is not Reaction.HOLD and 'not carried' in o.flags:
                    o.reaction = Cause.NOT_CARRIED.reaction
                    remedies = list(Remedy)
                    o.remedy = max(o.remedy, Cause.NOT_CARRIED.remedy, key=remedies.index)
                is_held = o.reaction is Reaction.HOLD
                o.happen(Event.AT_REST_HELD if is_held else Event.AT_REST)
        else:
            desired = o.law()
            if not math.isfinite(desired):
                o.end(Event.LEAVE, Cause.TORQUE_NOT_FINITE)
        if o.state in ACTIVE:
            o.send(desired, elapsed)
        else:
            o.without_state(elapsed)
        self._watch(is_moving)

    def _watch(self, is_moving, doubts=False):
        """End torques, and a resting torque under which the arm moves, at an excess."""
        o = self.oracle
        is_watched = o.state is State.RUNNING
        if o.state not in ACTIVE and o.reaction.is_watched and is_moving:
            is_watched = doubts or o.agreed
        if is_watched and 'excess' in o.flags:
            o.end(Event.HOLD, Cause.LASTING_DISTURBANCE)

    def _wait(self, is_moving, elapsed):
        o = self.oracle
        agrees = 'disagrees' not in o.flags
        has_enough = o.good >= MIN_COUNT
        is_blocked = 'blocked' in o.flags
        if agrees:
            o.use(o.acting if o.rule is Acting.WAITING else o.requested)
            o.agreed = True
        if o.reaction is Reaction.HOLD:
            if has_enough and not is_blocked:
                o.happen(Event.SEEN)
        elif o.remedy.begins_alone:
            if has_enough and agrees and not is_blocked:
                o.happen(Event.BEGIN)
            elif o.state is State.SILENT:
                o.wait()
        desired = o.law() if o.state is State.RUNNING else None
        if desired is not None and not math.isfinite(desired):
            o.end(Event.LEAVE, Cause.TORQUE_NOT_FINITE)
        if o.state in ACTIVE:
            if o.state is State.BRAKING:
                o.brake(elapsed)
            o.send(desired, elapsed)
        else:
            o.without_state(elapsed)
        may_begin = o.remedy.begins_alone or not o.agreed
        self._watch(is_moving, not agrees and may_begin and o.reaction is not Reaction.HOLD)

    def _lose(self, event, cause, elapsed):
        o = self.oracle
        if o.state in ACTIVE:
            o.end(event, cause)
        if o.state is State.SILENT and o.remedy.begins_alone:
            o.wait()
        o.without_state(elapsed)

    def broken(self, value):
        """Give a position that is no number, or impossible."""
        o = self.oracle
        elapsed = self._pass(1e-3)
        sent = self.core.step([value], [0.0], o.now)
        o.own = None
        o.good = 0
        is_lost = math.isnan(value)
        event = Event.REST if is_lost else Event.IMPOSSIBLE
        cause = Cause.STATES_LOST if is_lost else Cause.STATE_IMPOSSIBLE
        self._gap += elapsed
        self._lose(event, cause, elapsed)
        self._compare('an unusable state', sent)

    def silence(self):
        o = self.oracle
        o.now += 0.03
        o.phase = From.AT_ONCE
        self._gap += 0.03
        sent = self.core.tick(o.now)
        is_lost = o.state in ACTIVE
        if is_lost:
            o.end(Event.REST, Cause.STATES_LOST)
            if o.state is State.SILENT and o.remedy.begins_alone:
                o.wait()
        o.without_state(0.03)
        self._compare('silence', sent)

    def second_source(self):
        o = self.oracle
        elapsed = self._pass(1e-3)
        self._gap += elapsed
        sent = self.core.reject_state('two', o.now, faulty=True)
        o.good = 0
        self._lose(Event.IMPOSSIBLE, Cause.SECOND_SOURCE, elapsed)
        self._compare('two sources', sent)

    def stop(self, kind):
        o = self.oracle
        event, cause = _EVENT_OF_STOP[kind]
        if kind is Stop.HOLD and o.state not in ACTIVE and o.reaction is not Reaction.HOLD:
            event, cause = Event.LEAVE, Cause.HOLD_WITHOUT_TORQUE
        o.stopped = o.stopped or kind is not Stop.PAUSE
        o.end(event, cause)
        self.core.stop('test', kind)
        self._compare(kind.name)

    def call_start(self):
        o = self.oracle
        is_accepted = True
        was = o.state
        is_held = was is State.HOLDING and o.remedy is not Remedy.CONFIGURE
        if is_held and ({'blocked', 'not carried'} & o.flags or o.good < MIN_COUNT):
            is_accepted = False
        elif was is not State.RUNNING:
            is_accepted = o.happen(Event.START)
        if is_accepted:
            o.stopped = False
            if not is_held and was is not State.RUNNING:
                o.wait()
        try:
            self.core.start()
            was_accepted = True
        except StartRefusedError:
            was_accepted = False
        if was_accepted is not is_accepted:
            self.differs = self.differs or f'start is accepted: {was_accepted}'
        self._compare('start')

    def reset(self):
        o = self.oracle
        former = o.reaction, o.remedy
        if o.remedy is not Remedy.CONFIGURE and o.reaction is not Reaction.ZERO:
            o.reaction, o.remedy = Reaction.REST, Remedy.WAIT
            if o.stopped:
                o.reaction, o.remedy = Reaction.RELEASE, Remedy.START
        o.happen(Event.RESET_STOPPED if o.stopped else Event.RESET, former)
        o.good, o.q, o.last, o.own = 0, None, None, None
        o.offset, o.stop_until, o.speed = 0.0, -math.inf, 0.0
        self._gap = 0.0
        self._state_count = 0
        self.core.reset()
        self._compare('reset')

    def change(self):
        o = self.oracle
        o.requested = 0.0 if o.requested else 1.0
        o.happen(Event.CHANGE)
        center = LOAD_CENTER if o.requested else (0.0, 0.0, 0.0)
        self.core.change(payload=(o.requested, *center))
        self._compare('change')

    def acting_load(self):
        """Return the load of the settings that act [kg], None if the core does not tell."""
        return self.core.law.acting.settings.payload[0]

    def toggle(self, flag):
        self.oracle.flags ^= {flag}
        self.core.blocked = 'blocked' if 'blocked' in self.oracle.flags else ''

    # --------------------------------------------------------------------------------------------
    _gap = 0.0
    _state_count = 0  # since the last reset

    def _pass(self, seconds):
        """Let time pass; return the time since the last torque [s]."""
        self.oracle.now += seconds
        self.oracle.phase = From.AT_ONCE
        gap, self._gap = self._gap, 0.0
        return gap + seconds

    def _compare(self, what, sent=None):
        if self.differs:
            return
        o, core = self.oracle, self.core
        found = core.state, core.ending.reaction, core.ending.remedy
        expected = o.state, o.reaction, o.remedy
        if o.torque is None and {found[0], expected[0]} == {State.STOPPING, State.SILENT}:
            o.state = found[0]  # the oracle does not know the torque at which STOPPING ends
            expected = o.state, o.reaction, o.remedy
        if o.is_late:
            self.differs = f'{what}: another torque than the row says is the first'
        if found != expected:
            self.differs = f'{what}: {found}, by the table {expected}'
        if self.acting_load() not in (None, o.acting):
            self.differs = self.differs or f'{what}: {self.acting_load()} kg act, not {o.acting}'
        if sent is None:
            return
        if o.torque is not None and abs(sent[0] - o.torque) > 1e-9:
            self.differs = self.differs or f'{what}: {sent[0]} N m, by the table {o.torque}'
        o.last = float(sent[0])


LOAD_CENTER = (LOAD_M, 0.0, -0.0)
EVENTS = {
    'usable': lambda pair: [pair.usable() for _ in range(MIN_COUNT + 2)],
    'one usable': lambda pair: pair.usable(),
    'moves': lambda pair: [pair.usable(0.1) for _ in range(2)],
    'creeps': lambda pair: [pair.usable(0.03) for _ in range(MIN_COUNT + 2)],
    'own': lambda pair: [pair.usable(0.0, OWN_NM) for _ in range(2)],
    'own moves': lambda pair: [pair.usable(0.1, OWN_NM) for _ in range(2)],
    'own ceases': lambda pair: [pair.usable(0.1, OWN_NM), pair.usable(0.1)],
    'own is no number': lambda pair: pair.usable(0.0, math.nan),
    'moves and is lost': lambda pair: [pair.usable(0.1), pair.broken(math.nan)],
    'runs away': lambda pair: [pair.usable(one) for one in (*[1.0] * 55, 7.0, 7.0)],
    'no number': lambda pair: pair.broken(math.nan),
    'impossible': lambda pair: pair.broken(9.0),
    'silence': lambda pair: pair.silence(),
    'two sources': lambda pair: pair.second_source(),
    **{kind.name: lambda pair, kind=kind: pair.stop(kind) for kind in Stop},
    'start': lambda pair: pair.call_start(),
    'reset': lambda pair: pair.reset(),
    'change': lambda pair: pair.change(),
    **{
        flag: lambda pair, flag=flag: pair.toggle(flag)
        for flag in ('blocked', 'disagrees', 'not carried', 'excess')
    },
}


def play(names, rows=ROWS):
    """
    Let events happen to a core and its oracle, and a usable state after each.

    Returns how they part, '' if they do not, and the rows that were used.
    """
    pair = Pair(rows)
    for name in names:
        EVENTS[name](pair)
        pair.usable()
        if pair.differs:
            return f'{" | ".join(names)} at {name}: {pair.differs}', pair.oracle.used
    return '', pair.oracle.used


def shorten(monkeypatch):
    """Let MIN_COUNT joint states suffice, and let each law be made once."""
    for module in (state_check, stopping):
        monkeypatch.setattr(module, 'MIN_GOOD_STATE_COUNT', MIN_COUNT)
    monkeypatch.setattr(feedforward, 'ControlLaw', _law)


_LAWS = {}


def _law(arm, settings, *, is_exact):
    """Return the law of some settings, which differ in payload only."""
    payload = settings.payload
    if payload not in _LAWS:
        _LAWS[payload] = ControlLaw(arm, settings, is_exact=is_exact)
    return _LAWS[payload]
