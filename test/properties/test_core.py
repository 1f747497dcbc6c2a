# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever comes, the core's torques are finite, within limit and rate, and of trusted states."""

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, RuleBasedStateMachine
import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import Feedforward, State, StateLimits, Stop
from franka_dynamics.errors import (
    ReferenceRefusedError,
    SettingsError,
    StartRefusedError,
)
from franka_dynamics.simulation.receiver import COMMAND_TIMEOUT_S

from .examples import examples

ARM = load('fer')
HOME = np.array(ARM.home)
STILL = np.zeros(ARM.n)
LIMIT = ARM.limit('effort')
RATE = ARM.limit('effort_rate')
PERIOD = 1e-3
LOAD = (1.0, 0.02, 0.0, 0.08, 0.003, 0.0, 0.0, 0.003, 0.0, 0.003)
SOFT = {'kp': tuple(LIMIT), 'kd': tuple(0.1 * LIMIT)}
STIFF = {'kp': tuple(25.0 * LIMIT), 'kd': tuple(3.0 * LIMIT)}
SETTINGS = (
    {},
    {'target': 'fci', **STIFF},
    {'target': 'fci', 'payload': LOAD, 'payload_known_to_robot': False},
    SOFT,
    {'target': 'gz_ros2_control', 'payload': LOAD},
    {'kp': (0.0,), 'kd': (0.0,), 'payload': (3.0, 0.0, 0.0, 0.1, *[0.0] * 6)},
)
COUNTS = st.integers(1, 40)
JOINTS = st.integers(0, ARM.n - 1)
# Values that no state of this arm has, as position or velocity.
IMPOSSIBLE = st.sampled_from([np.nan, np.inf, -np.inf, 1e300, 4000.0])


class HostileWorld(RuleBasedStateMachine):
    """Gives a core states, requests and faults in any order, and judges each torque."""

    @initialize(applied=st.booleans())
    def begin(self, applied):
        self.applied = applied  # whether a loop applies each torque, or a node sends it
        limits = StateLimits(max_state_age=0.0)
        self.core = Feedforward(ARM, 'mujoco', limits=limits, applied_when_silent=applied)
        self.time = 10.0
        self.now = 10.0
        self.q = HOME
        self.newest = self.time  # largest stamp so far; the core drops states of other stamps
        self.last = None  # the last torque, and when it came by both clocks
        self.carried = False  # whether the receiver of the last torque carries the arm
        self.good_states(25)  # so that torques are sent

    def judge(self, torque):
        assert np.isfinite(torque).all() and (np.abs(torque) <= LIMIT).all()
        if not (self.core.sends or self.applied):
            return
        carried = self.core.requested_law.terms.adds_gravity
        if carried != self.carried and not self.applied:
            self.last = None  # another receiver
        self.carried = carried
        if self.last is not None and not self.applied:
            _, now, _, q = self.last
            if self.now - now > COMMAND_TIMEOUT_S and np.abs(self.q - q).max() > 0.1:
                self.last = None  # a receiver's last torque acts no more where the arm was moved
        if self.last is not None:
            before, now, time, _ = self.last
            if np.array_equal(torque, before):
                if self.time < time:  # the clock was set back: the time of the last change is lost
                    self.last = before, self.now, self.time, self.q
                return  # the rate counts from the last change
            elapsed = min(PERIOD, max(abs(self.now - now), self.time - time))
            # Differences of times of up to 500 s are rounded by 1e-13 s.
            assert (np.abs(torque - before) <= RATE * elapsed + 1e-9).all()
        self.last = torque.copy(), self.now, self.time, self.q

    def step(self, q, dq=STILL, advance=PERIOD, effort=None):
        self.time = self.time + advance
        self.now = self.now + abs(advance)
        if self.applied:  # a loop has one clock
            self.now = self.time
        self.newest = max(self.newest, self.time)
        self.judge(self.core.step(q, dq, self.time, effort=effort, now=self.now))

    def step_newer(self, q, dq=STILL, advance=PERIOD):
        self.step(q, dq, advance + self.newest - self.time)

    def require_untrusted(self):
        """Fail if the latest state may move the arm: then torques only go to the resting one."""
        assert self.core.state in (State.SILENT, State.STOPPING), self.core.status
        assert self.core.state_problem

    @rule(count=COUNTS)
    def good_states(self, count):
        for _ in range(count):
            self.step(self.q)

    @rule(
        advance=st.sampled_from([PERIOD, PERIOD, 0.5e-3, 0.0, -1e-3, 3e-3, 0.05, 5.0, -5.0]),
        spread=st.sampled_from([0.0, 1e-4, 1e-3, 0.02, 3.0]),
        seed=st.integers(0, 99),
        measured=st.booleans(),
    )
    def any_state(self, advance, spread, seed, measured):
        rng = np.random.default_rng(seed)
        self.q = np.clip(self.q + rng.normal(0, spread, ARM.n), -3.1, 3.1)
        effort = rng.normal(0, 20, ARM.n) if measured else None
        self.step(self.q, rng.normal(0, 1, ARM.n), advance, effort)

    @rule(place=st.integers(0, 2 * ARM.n - 1), value=IMPOSSIBLE)
    def impossible_state(self, place, value):
        state = np.concatenate([self.q, STILL])
        state[place] = value
        self.step_newer(state[: ARM.n], state[ARM.n :])
        self.require_untrusted()
        assert self.core.latest is None

    @precondition(lambda self: self.core.state is State.RUNNING)
    @rule(joint=JOINTS, leap=st.sampled_from([-0.5, 0.5]))
    def state_that_leaps(self, joint, leap):
        self.step_newer(self.q)
        if self.core.state is State.RUNNING:
            self.step_newer(self.q + leap * np.eye(ARM.n)[joint])  # in 1 ms: 500 rad/s
            self.require_untrusted()

    @precondition(lambda self: self.core.state is State.RUNNING)
    @rule(gap=st.floats(0.06, 10.0))
    def state_after_a_gap(self, gap):
        self.step_newer(self.q, advance=gap)
        self.require_untrusted()

    @rule(settings=st.sampled_from(SETTINGS))
    def change(self, settings):
        try:
            self.core.change(**settings)
        except SettingsError:
            pass

    @rule(
        joint=JOINTS,
        by=st.sampled_from([0.0, 0.01, 0.05, 0.5, np.nan]),
        times=st.sampled_from([None, [0.01, 0.5], [0.5, 1.0]]),
        speed=st.sampled_from([None, 0.0, 0.5]),
    )
    def follow(self, joint, by, times, speed):
        q = HOME + by * np.eye(ARM.n)[joint]
        q = q if times is None else [q, HOME]
        dq = None if speed is None else np.full(np.shape(q), speed)
        try:
            self.core.follow(q, times, dq)
        except ReferenceRefusedError:
            pass

    @rule()
    def start(self):
        try:
            self.core.start()
        except StartRefusedError:
            pass

    @rule(then=st.sampled_from([Stop.LET_GO, Stop.HOLD, Stop.TO_ZERO]))
    def stop(self, then):
        self.core.stop('hostile', then)

    @rule()
    def unreadable_state(self):
        self.judge(self.core.reject_state('hostile', self.now))
        self.require_untrusted()

    @rule(steps=st.lists(st.sampled_from([0.7e-3, 0.05]), min_size=1, max_size=5))
    def silence(self, steps):
        for advance in steps:
            self.now += advance
            self.time = self.now if self.applied else self.time
            self.judge(self.core.tick(self.now))


TestHostileWorld = HostileWorld.TestCase
TestHostileWorld.settings = examples(40, stateful_step_count=40)
