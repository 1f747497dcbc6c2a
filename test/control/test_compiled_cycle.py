# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled cycle against the one in Python, whose every decision it must respect."""

from dataclasses import replace
import math
import os
import shutil
import struct

from hypothesis import given, strategies
from hypothesis import settings as hypothesis_settings
import mujoco
import numpy as np
import pytest

from franka_dynamics.arm import JointKind, load
from franka_dynamics.control import compiled_cycle, possible_motion
from franka_dynamics.control.command_state import AGREEMENT, ClearedBy
from franka_dynamics.control.compiled_cycle import CompiledCycle, MessageLayout
from franka_dynamics.control.cycle import Mode
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.possible_motion import Condition
from franka_dynamics.control.reference_following import follow_request
from franka_dynamics.control.reference_request import TrajectoryRequest
from franka_dynamics.control.settings import Settings, StateSource, Terms
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.errors import CompilationError, ReferenceRefusedError
from franka_dynamics.simulation.mujoco_model import build_mujoco

from .closed_loop import FER, MUJOCO
from ..codegen.c_core import needs_compiler

pytestmark = needs_compiler

INCLINED = (3.0, -1.0, -9.28)
LOAD = (1.0, 0.0, 0.0, 0.05, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)
GAINS = {'kp': (60.0,), 'kd': (6.0, 6.0, 6.0, 6.0, 1.0, 1.0, 0.5)}
BEGIN_NS = 10**12


def layout_of(n, has_effort=True):
    """Return the layout of `message`: a stamp, then positions, velocities and efforts."""
    length = 8 * (1 + (3 if has_effort else 2) * n)
    places = [8 + 8 * k for k in range((3 if has_effort else 2) * n)]
    return MessageLayout(bytes(length), bytes(length), 4, places, has_effort)


def message(stamp_ns, *values):
    """Return the bytes of a state."""
    stamp = struct.pack('=iI', stamp_ns // 10**9, stamp_ns % 10**9)
    return stamp + b''.join(np.asarray(value, dtype=float).tobytes() for value in values)


class Pair:
    """One controller with the compiled cycle and one without, given the same states."""

    def __init__(self, settings=MUJOCO, description=FER, **options):
        self.plain, self.fast = (
            FeedforwardController(description, settings, **options) for _ in range(2)
        )
        self.compiled = CompiledCycle(self.fast)
        self.layout = layout_of(description.n)
        self.answered = self.commands = 0
        self.each(FeedforwardController.enable)

    def each(self, do, *arguments):
        for controller in (self.plain, self.fast):
            do(controller, *arguments)

    def state(self, stamp_ns, q, dq, *, arrival=None, age=0.0, effort=None):
        """Feed both; return the two torques, and whether the compiled cycle gave the second."""
        stamp = stamp_ns // 10**9 + 1e-9 * (stamp_ns % 10**9)
        now = stamp + age
        arrival = stamp if arrival is None else arrival
        measured = np.zeros_like(q) if effort is None else effort
        given = (stamp, q, dq, arrival)
        options = {'effort': effort, 'age': now - stamp}
        expected = self.plain.cycle(*given, **options)
        self.plain.update_monitors(expected)
        answered = self.compiled.answer(message(stamp_ns, q, dq, measured), now)
        sent = self.compiled.torque.copy() if answered else None
        cycle = self.fast.cycle(*given, **options, sent=sent)
        self.fast.update_monitors(cycle)
        self.compiled.prepare(self.layout)
        self.answered += answered
        self.commands += expected.command is not None
        assert (expected.command is None) == (cycle.command is None)
        if expected.command is not None:
            np.testing.assert_allclose(cycle.command, expected.command, rtol=0, atol=1e-9)
        assert self.fast.mode is self.plain.mode
        assert self.fast.conflict == self.plain.conflict
        return expected.command, cycle.command, answered


class Motion:
    """A smooth motion about home, with its velocities."""

    def __init__(self, description=FER, seed=0, size=0.2):
        rng = np.random.default_rng(seed)
        self.home = np.array(description.home)
        self.size = rng.uniform(-size, size, description.n)
        self.pulse = rng.uniform(1.0, 3.0, description.n)

    def at(self, seconds):
        """Return positions and velocities."""
        turn = self.pulse * seconds
        return (
            self.home + self.size * (1.0 - np.cos(turn)),
            self.size * self.pulse * np.sin(turn),
        )


def run(pair, motion, milliseconds, begin=0, **options):
    for k in range(begin, begin + milliseconds):
        pair.state(BEGIN_NS + k * 10**6, *motion.at(1e-3 * k), **options)


def swing(order=2, begin=None, seconds=0.8, size=0.05):
    """Return a motion and back from home, or from where it is to begin."""
    times = np.linspace(0.0, seconds, 17)
    turn = 2.0 * np.pi / seconds
    rows = size * np.ones(7)
    begin = np.array(FER.home) if begin is None else begin
    return TrajectoryRequest(
        joint_names=FER.joint_names,
        times=times,
        positions=begin + 0.5 * np.outer(1.0 - np.cos(turn * times), rows),
        velocities=0.5 * turn * np.outer(np.sin(turn * times), rows) if order > 0 else None,
        accelerations=0.5 * turn**2 * np.outer(np.cos(turn * times), rows) if order > 1 else None,
    )


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'fr3v2'])
@pytest.mark.parametrize(
    'settings',
    [
        MUJOCO,
        Settings(target='fci'),
        Settings(target='fci', gravity_vector=INCLINED),
        Settings(target='fci', payload=LOAD, payload_known_to_robot=False),
        Settings(target='mujoco', payload=LOAD, gravity_vector=INCLINED, scale=0.5),
        Settings(target='mujoco', terms=Terms(coriolis=False)),
        Settings(target='mujoco', terms=Terms(gravity=False)),
    ],
)
def test_usual_states_are_answered_as_in_python(arm, settings):
    description = load(arm)
    pair = Pair(replace(settings, ramp_time=0.05), description)
    run(pair, Motion(description), 250)
    # 20 states until they are trusted, and some 60 in which the torque is ramped in.
    assert pair.commands == 230
    assert pair.answered >= 160


@pytest.mark.parametrize(
    'settings',
    [
        MUJOCO,
        replace(MUJOCO, **GAINS),
        replace(MUJOCO, **GAINS, state_source=StateSource.REFERENCE, scale=0.3),
        replace(MUJOCO, **GAINS, terms=Terms(inertia=False)),
        replace(
            MUJOCO,
            **GAINS,
            state_source=StateSource.REFERENCE,
            terms=Terms(coriolis=False),
        ),
    ],
)
@pytest.mark.parametrize('order', [0, 1, 2])
def test_a_motion_is_answered_as_in_python(settings, order):
    pair = Pair(replace(settings, ramp_time=0.05))
    home = np.array(FER.home)
    still = np.zeros(FER.n)
    for k in range(100):
        pair.state(BEGIN_NS + k * 10**6, home, still)
    pair.each(follow_request, swing(order))
    before, followed = pair.answered, 0
    for k in range(100, 1050):
        desired = pair.plain.reference.at(BEGIN_NS * 1e-9 + 1e-3 * k)
        followed += pair.plain.reference.active
        # The arm follows with an error, so that the gains have something to do.
        pair.state(BEGIN_NS + k * 10**6, desired.q + 1e-3, desired.dq)
    assert followed > 700
    # The first 50 states fade the start in. After that each segment of the motion begins with
    # a state for Python; at a kink of the straight ones the velocity contradicts the position.
    assert pair.answered - before > 800
    assert pair.plain.mode is Mode.RUNNING


def test_its_torque_is_that_of_another_engine():
    pair = Pair()
    motion = Motion()
    model = build_mujoco(FER)
    data = mujoco.MjData(model)
    compared = 0
    for k in range(400):
        q, dq = motion.at(1e-3 * k)
        _, torque, answered = pair.state(BEGIN_NS + k * 10**6, q, dq)
        if answered:
            data.qpos[:7], data.qvel[:7], data.qacc[:7] = q, dq, 0.0
            mujoco.mj_inverse(model, data)
            # MuJoCo multiplies out in another order; torques are up to 40 N m.
            np.testing.assert_allclose(torque, data.qfrc_inverse[:7], rtol=0, atol=1e-10)
            compared += 1
    assert compared > 150


def test_a_real_arms_states_are_answered_as_in_python(fer_1khz_recording):
    # Real jitter of stamps, real noise of velocities; the driver carries gravity in this one.
    pair, real = Pair(Settings(target='fci')), fer_1khz_recording
    for stamp, q, dq, effort in zip(
        real.stamp_ns[:3000], real.q[:3000], real.dq[:3000], real.effort[:3000], strict=True
    ):
        pair.state(int(stamp), q.copy(), dq.copy(), effort=effort.copy())
    assert pair.commands == 2980
    assert pair.answered > 2700


def test_sliding_joints_and_rotors_are_computed_as_well():
    joints = list(FER.joints)
    joints[2] = replace(joints[2], kind=JointKind.PRISMATIC)
    joints = [replace(joint, rotor_inertia=0.1 * (k + 1)) for k, joint in enumerate(joints)]
    description = replace(FER, joints=tuple(joints))
    pair = Pair(MUJOCO, description)
    run(pair, Motion(description), 400)
    assert pair.answered > 150
    assert not pair.plain.reference.active
    pair = Pair(replace(MUJOCO, ramp_time=0.05), description)
    run(pair, Motion(description, size=0.0), 100)
    pair.each(follow_request, swing())
    before = pair.answered
    for k in range(100, 900):
        desired = pair.plain.reference.at(BEGIN_NS * 1e-9 + 1e-3 * k)
        pair.state(BEGIN_NS + k * 10**6, desired.q + 1e-3, desired.dq)
    assert pair.answered - before > 500


# What may happen to a stream of states: (what, when, how much).
EVENTS = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(
            [
                'gap',
                'repeat',
                'back',
                'old',
                'nan',
                'inf effort',
                'jump',
                'lying velocity',
                'outside',
                'fast',
                'scale',
                'payload',
                'gains',
                'follow',
                'stop',
                'acknowledge',
                'silence',
                'forgiven',
                'disable',
            ]
        ),
        strategies.integers(5, 500),
        strategies.floats(0.0, 1.0),
    ),
    max_size=8,
)


@given(events=EVENTS, seed=strategies.integers(0, 50), simulated=strategies.booleans())
@hypothesis_settings(max_examples=25, deadline=None)
def test_no_stream_of_states_is_judged_otherwise(events, seed, simulated):
    pair = Pair()
    pair.plain.supervisor.ages_are_delays = pair.fast.supervisor.ages_are_delays = simulated
    motion, stamp = Motion(seed=seed), BEGIN_NS
    rng = np.random.default_rng(seed)
    for k in range(500):
        q, dq = motion.at((stamp - BEGIN_NS) * 1e-9)
        age, effort, step = float(rng.uniform(0.0, 2e-3)), None, 10**6
        for what, when, much in events:
            if when == k:
                if what == 'gap':
                    step = int(1e6 + much * 6e7)
                elif what == 'repeat':
                    step = 0
                elif what == 'back':
                    step = -int(much * 3e6)
                elif what == 'old':
                    age = 0.2 * much
                elif what == 'nan':
                    (q if much < 0.5 else dq)[int(6 * much)] = math.nan
                elif what == 'inf effort':
                    effort = np.full(7, math.inf)
                elif what == 'jump':
                    q = q + 0.05 * much
                elif what == 'lying velocity':
                    dq = dq + 8.0 * much
                elif what == 'outside':
                    q[3] = 0.3 * much
                elif what == 'fast':
                    dq[2] = 6.0 * much
                else:
                    pair.each(command, what, much, stamp)
        now = 1e-9 * stamp
        torques = pair.state(
            stamp + step, q, dq, arrival=now + 1e-9 * step, age=age, effort=effort
        )
        if torques[0] is None:
            steps = [one.stop_step(1e-3) for one in (pair.plain, pair.fast)]
            assert (steps[0] is None) == (steps[1] is None)
            if steps[0] is not None:
                np.testing.assert_allclose(steps[0], steps[1], rtol=0, atol=1e-9)
        stamp += step if step > 0 else 10**6
    if not events:
        assert pair.answered >= 250


def command(controller, what, much, stamp):
    """Do to a controller what a person or another program may do between two states."""
    if what == 'scale':
        controller.apply(replace(controller.settings, scale=much))
    elif what == 'payload':
        controller.apply(replace(controller.settings, payload=(0.1 + much, *LOAD[1:])))
    elif what == 'gains':
        controller.apply(replace(controller.settings, **GAINS))
    elif what == 'follow' and controller.latest is not None:
        follow(controller, swing(int(2.9 * much), controller.latest[1]))
    elif what == 'stop':
        controller.stop('asked to')
    elif what == 'acknowledge':
        controller.clear_fault()
    elif what == 'silence':
        controller.check_silence(1e-9 * stamp + 0.05 * much)
    elif what == 'forgiven':
        controller.supervisor.ignore_next_gap()
    elif what == 'disable':
        controller.disable('asked to')
        controller.enable()


def follow(controller, request):
    """Ask for a motion, which may be refused."""
    try:
        follow_request(controller, request)
    except ReferenceRefusedError:
        pass  # what matters is that both refuse it


def settled(limits=None, home=FER.home, **changes):
    """Return a pair that stands still and whose states are answered, and the last stamp."""
    settings = replace(MUJOCO, ramp_time=0.0, **changes)
    pair = Pair(settings, supervision=SupervisionLimits(recovery_samples=3, **(limits or {})))
    home, still = np.array(home), np.zeros(7)
    # With the rate limit, until the gravity torque is reached.
    count = 60 if settings.terms.gravity else 6
    for k in range(count):
        answered = pair.state(BEGIN_NS + k * 10**6, home, still)[2]
    assert answered
    return pair, BEGIN_NS + (count - 1) * 10**6


@pytest.mark.parametrize(
    ('limits', 'longest'),
    [
        ({}, 0.005),  # a slow topic's period
        ({'min_input_rate': 1.0}, 0.02),  # the timeout
        ({'min_input_rate': 1.0, 'state_timeout': 1.0}, possible_motion.LONGEST_GAP_S),
    ],
)
def test_a_gap_is_answered_up_to_what_is_usual(limits, longest):
    for factor in (0.999, 1.001):
        pair, last = settled(limits)
        stamp = last + round(1e9 * factor * longest)
        assert pair.state(stamp, np.array(FER.home), np.zeros(7))[2] == (factor < 1.0)


def test_an_old_state_leaves_less_time_for_the_next_one():
    for factor in (0.99, 1.01):
        pair, last = settled({'min_input_rate': 1.0})
        pair.plain.supervisor.ages_are_delays = pair.fast.supervisor.ages_are_delays = True
        home, still = np.array(FER.home), np.zeros(7)
        pair.state(last + 10**6, home, still, age=0.075)
        stamp = last + 10**6 + round(factor * 5e6)  # a quarter of the timeout
        assert pair.state(stamp, home, still)[2] == (factor < 1.0)


@pytest.mark.parametrize('what', ['moved', 'drift', 'age'])
@pytest.mark.parametrize('side', [-1, 1])
def test_what_is_just_allowed_is_so_in_both(what, side):
    # By bisection: no value that Python refuses is answered, and those up to the bound are.
    home = np.array(FER.home)

    def outcome(value):
        # Without a torque, whose rate limit would be reached before.
        pair, last = settled(terms=Terms(gravity=False, coriolis=False))
        q, dq, age = home.copy(), np.zeros(7), 0.0
        if what == 'moved':
            q[0] += value
            dq[0] = value * 1e3
        elif what == 'drift':
            q[0] += value
        else:
            age = value
        answered = pair.state(last + 10**6, q, dq, age=age)[2]
        return pair.plain.supervisor.condition is Condition.TRUSTED, answered

    low, high = 0.0, {'moved': 0.5, 'drift': 0.1, 'age': 0.3}[what]
    assert outcome(side * high) == (False, False)
    for _ in range(14):
        middle = 0.5 * (low + high)
        trusted, answered = outcome(side * middle)
        assert trusted or not answered
        low, high = (middle, high) if answered else (low, middle)
    strictest = {
        'moved': 2e-3 * FER.limit('velocity')[0],  # twice its speed for a millisecond
        'drift': possible_motion.STEP,  # from here on it is Python's to count how often
        'age': 0.1,
    }[what]
    assert low == pytest.approx(strictest, rel=0.01)


def test_a_torque_that_python_does_not_confirm_stops_it():
    pair, last = settled()
    pair.compiled._state.arm.body[6].mass += 1.0  # as a fault of the compiled code would
    q, dq = np.array(FER.home), np.zeros(7)
    stamp = last + 10**6
    data = message(stamp, q, dq, dq)
    assert not pair.compiled.answer(data, 1e-9 * stamp)  # the rate limit holds in it as well
    pair.compiled._state.arm.body[6].mass -= 1.0
    pair.compiled._state.arm.body[6].mass += 1e-3
    assert pair.compiled.answer(data, 1e-9 * stamp)
    sent = pair.compiled.torque.copy()
    cycle = pair.fast.cycle(1e-9 * stamp, q, dq, 1e-9 * stamp, age=0.0, sent=sent)
    difference = np.abs(sent - pair.fast.terms.gravity(q)).max()
    assert AGREEMENT < difference < 0.1
    np.testing.assert_array_equal(cycle.command, sent)
    assert pair.fast.mode is Mode.STOPPING
    assert pair.fast.conflict.startswith('cross-check: the compiled cycle has answered a state')
    assert f'{difference:.3g} N m of difference' in pair.fast.conflict
    # The stop begins at what is out, and only a new configuration clears the fault.
    assert np.abs(pair.fast.stop_step(1e-3) - sent).max() <= 1.0
    assert not pair.fast.clear_fault()[0]
    pair.fast.faults.activated()
    assert pair.fast.conflict


def test_an_answer_to_a_refused_state_is_a_fault():
    pair, last = settled()
    sent = pair.fast.output.last.copy()
    stamp = 1e-9 * (last + 10**6)
    nowhere = np.full(7, math.nan)
    pair.fast.cycle(stamp, nowhere, np.zeros(7), stamp, sent=sent)
    assert pair.fast.mode is not Mode.RUNNING
    assert pair.fast.conflict  # of the state, or of the cycle: the graver of the two
    assert not pair.fast.clear_fault()[0]
    assert pair.fast.faults._until is ClearedBy.CONFIGURATION


def test_bytes_that_must_not_differ_do_not():
    pair, last = settled()
    pattern = bytes(range(176))
    mask = bytes([0] * 100 + [255] * 4 + [0] * 72)
    pair.compiled.prepare(pair.layout._replace(pattern=pattern, mask=mask))
    stamp = last + 10**6
    data = bytearray(message(stamp, FER.home, np.zeros(7), np.zeros(7)))
    assert not pair.compiled.answer(bytes(data), 1e-9 * stamp)
    data[100:104] = pattern[100:104]
    changed = bytes(data)
    first = struct.unpack_from('d', changed, 96)[0]
    assert pair.compiled.answer(changed, 1e-9 * stamp) == (abs(first) <= 1e-3)


def test_bytes_of_another_number_are_not_answered():
    pair, last = settled()
    stamp = last + 10**6
    data = message(stamp, FER.home, np.zeros(7), np.zeros(7))
    assert pair.compiled.answer(data, 1e-9 * stamp)
    assert not pair.compiled.answer(data + b'\0', 1e-9 * stamp)
    assert not pair.compiled.answer(data[:-1], 1e-9 * stamp)


@pytest.mark.parametrize(('name', 'side'), [('lower', -1.0), ('upper', 1.0)])
def test_positions_out_of_reach_are_not_answered(name, side):
    last_one = np.array(FER.home)
    last_one[1] = FER.limit(name)[1] + side * (0.2 - 1e-6)  # what an encoder may be off by
    pair, last = settled(home=last_one)
    beyond = last_one.copy()
    beyond[1] += side * 2e-6
    torque, _, answered = pair.state(last + 10**6, beyond, np.zeros(7))
    assert torque is None and not answered
    assert pair.plain.supervisor.condition is Condition.OUT_OF_RANGE


@pytest.mark.parametrize(('step', 'allowed'), [(10**5, 0.1), (10**6, 1.0), (3 * 10**6, 1.0)])
def test_the_rate_limit_counts_a_millisecond_at_most(step, allowed):
    for factor in (0.999, 1.001):
        pair, last = settled()
        pair.compiled._command[1] += factor * allowed  # [N m], as if that had been the last one
        stamp = last + step
        data = message(stamp, FER.home, np.zeros(7), np.zeros(7))
        assert pair.compiled.answer(data, 1e-9 * stamp) == (factor < 1.0)


def test_an_arm_too_far_from_its_reference_is_not_answered():
    for factor in (0.9, 1.1):
        pair, last = settled(**GAINS, max_tracking_error=(1e-3,))
        q, dq = np.array(FER.home), np.zeros(7)
        q[6] += factor * 1e-3
        dq[6] = factor
        assert pair.state(last + 10**6, q, dq)[2] == (factor < 1.0)
        assert bool(pair.plain.conflict) == (factor > 1.0)


def test_a_speed_without_bound_is_not_answered():
    # Pinocchio's products of such a speed overflow, where the compiled recursion multiplies by 0.
    joints = list(FER.joints)
    limits = replace(joints[0].limits, velocity=math.inf)
    joints[0] = replace(joints[0], kind=JointKind.PRISMATIC, limits=limits)
    description = replace(FER, joints=tuple(joints))
    limits = SupervisionLimits(recovery_samples=3)
    settings = replace(MUJOCO, ramp_time=0.0, terms=Terms(gravity=False))
    pair = Pair(settings, description, supervision=limits)
    home, still = np.array(FER.home), np.zeros(7)
    for k in range(6):
        answered = pair.state(BEGIN_NS + k * 10**6, home, still)[2]
    assert answered
    fast = still.copy()
    fast[0] = 1e300
    with np.errstate(all='ignore'):
        torque, _, answered = pair.state(BEGIN_NS + 6 * 10**6, home, fast)
    assert torque is None and not answered
    assert pair.plain.stop_reason == 'the computed torque is not finite'


def test_a_jump_within_what_its_velocity_allows_is_not_answered():
    pair, last = settled(terms=Terms(gravity=False, coriolis=False))
    q, dq = np.array(FER.home), np.zeros(7)
    q[0] += 0.02  # faster than it can, though 4 rad/s may be off by as much
    dq[0] = 4.0
    torque, _, answered = pair.state(last + 10**6, q, dq)
    assert torque is None and not answered
    assert pair.plain.supervisor.condition is Condition.JUMPED


def test_a_creeping_contradiction_is_not_answered():
    pair, last = settled(terms=Terms(gravity=False, coriolis=False))
    q = np.array(FER.home)
    for k in range(1, 20):
        q = q + 2e-3 * (np.arange(7) == 0)  # each step too small to be one, and no velocity
        torque, _, answered = pair.state(last + k * 10**6, q, np.zeros(7))
        if torque is None:
            break
        assert answered
    assert not answered
    assert pair.plain.supervisor.condition is Condition.CONTRADICTORY


@pytest.mark.parametrize('field', ['q', 'dq', 'effort'])
@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_not_answered(field, value):
    pair, last = settled()
    state = {'q': np.array(FER.home), 'dq': np.zeros(7), 'effort': np.zeros(7)}
    state[field][4] = value
    torque, _, answered = pair.state(last + 10**6, **state)
    assert torque is None and not answered
    assert pair.plain.supervisor.condition is Condition.NOT_FINITE


@pytest.mark.parametrize('step', [0, -1, -(10**6)])
def test_stamps_that_do_not_advance_are_not_answered(step):
    pair, last = settled()
    torque, _, answered = pair.state(last + step, np.array(FER.home), np.zeros(7))
    assert torque is None and not answered


def test_nanoseconds_beyond_a_second_are_refused():
    pair, last = settled()
    stamp = last + 10**6
    data = message(stamp, FER.home, np.zeros(7), np.zeros(7))
    assert pair.compiled.answer(data, 1e-9 * stamp)
    wrong = struct.pack('=iI', stamp // 10**9 - 1, 10**9 + stamp % 10**9) + data[8:]
    assert not pair.compiled.answer(wrong, 1e-9 * stamp)


@pytest.fixture
def anew():
    """Let this process look for compiled code anew, now and when the test is over."""
    compiled_cycle.compiled_library.cache_clear()
    yield
    compiled_cycle.compiled_library.cache_clear()


def test_without_a_compiler_one_sentence_says_so(anew, monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    with pytest.raises(CompilationError, match='No C compiler'):
        CompiledCycle(FeedforwardController(FER))


def test_a_compiler_that_fails_is_quoted(anew, monkeypatch, tmp_path):
    tool = tmp_path / 'cc'
    tool.write_text('#!/bin/sh\necho "no room on the disk" >&2\nexit 3\n')
    tool.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    with pytest.raises(CompilationError, match='cc failed and says: no room on the disk'):
        CompiledCycle(FeedforwardController(FER))
    assert not list((tmp_path / 'cache').rglob('*.so'))


def test_a_damaged_library_is_named(monkeypatch, tmp_path):
    damaged = tmp_path / 'damaged.so'
    damaged.write_text('no program')
    monkeypatch.setattr(compiled_cycle, 'compiled_library', lambda: damaged)
    with pytest.raises(CompilationError, match=r'cannot be loaded; delete it: .*damaged\.so'):
        CompiledCycle(FeedforwardController(FER))


@pytest.mark.parametrize('mode', [0o777, None])
def test_a_cache_that_others_may_write_is_not_used(monkeypatch, tmp_path, mode):
    root = tmp_path / 'franka_dynamics' / 'compiled'
    root.parent.mkdir()
    if mode is None:
        root.write_text('a file where the folder should be')
    else:
        root.mkdir()
        root.chmod(mode)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    compiled_cycle.compiled_library.cache_clear()
    try:
        library = compiled_cycle.compiled_library()
        assert tmp_path not in library.parents
        assert os.stat(library.parent).st_mode & 0o077 == 0
        shutil.rmtree(library.parent)
    finally:
        compiled_cycle.compiled_library.cache_clear()


@pytest.fixture
def nobody(monkeypatch):
    """Be a user without a home, as containers have them."""

    def unknown():
        raise RuntimeError('Could not determine home directory.')

    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    monkeypatch.setattr(compiled_cycle.Path, 'home', unknown)
    compiled_cycle.compiled_library.cache_clear()
    yield monkeypatch
    compiled_cycle.compiled_library.cache_clear()


def test_a_user_without_a_home_has_it_compiled_anew(nobody):
    library = compiled_cycle.compiled_library()
    assert library.is_file()
    shutil.rmtree(library.parent)


def test_without_any_folder_one_sentence_says_so(nobody):
    def full(**_):
        raise OSError(28, 'No space left on device')

    nobody.setattr(compiled_cycle.tempfile, 'mkdtemp', full)
    with pytest.raises(CompilationError, match=r'No folder takes the compiled code: .*No space'):
        CompiledCycle(FeedforwardController(FER))


def test_more_joints_than_there_is_room_for_are_refused():
    names = [f'joint_{k}' for k in range(21)]
    joints = tuple(replace(FER.joints[k % 7], name=name) for k, name in enumerate(names))
    many = replace(FER, joints=joints, links=FER.links * 3, home=None)
    with pytest.raises(CompilationError, match='at most 16 joints, not 21'):
        CompiledCycle(FeedforwardController(many))


def test_states_of_an_older_clock_are_left_to_python():
    pair = Pair(supervision=SupervisionLimits(max_state_age=0.05))
    motion = Motion()
    run(pair, motion, 300)
    answered = pair.answered
    run(pair, motion, 30, 300, age=0.06)
    assert pair.answered == answered
