# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The core has the same torques, states and reasons in Python and C++, scripted and at random."""

from dataclasses import replace
import logging

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointKind
from franka_dynamics.arm.friction import ViscousCoulombFriction
from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.control.core_table import Stop
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.settings import StateLimits
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

from . import cpp_core
from .cpp_core import compiled, Core
from .lockstep import Pair
from ..arms import limited, random_arm

pytestmark = cpp_core.needs_compiler
GAINS = {'kp': (300.0,) * 4 + (100.0, 60.0, 10.0), 'kd': (30.0,) * 4 + (4.0, 3.0, 0.06)}
LOAD = (1.0, 0.0, 0.0, 0.1)
BOTH_KINDS = (JointKind.REVOLUTE, JointKind.PRISMATIC)


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp('cpp'))


@pytest.fixture(scope='module')
def cores(library, tmp_path_factory):
    folder = tmp_path_factory.mktemp('arms')
    arms = {name: fd.load(name) for name in ('fr3', 'fer')}
    offsets = np.linspace(-0.4, 0.3, 7)
    friction = ViscousCoulombFriction(
        np.full(7, 0.3), np.full(7, 0.6), offsets, receiver_offset=offsets[::-1].copy()
    )
    arms['offset'] = replace(arms['fr3'], friction=friction)
    return {name: Core(library, arm, folder) for name, arm in arms.items()}


@pytest.fixture(autouse=True)
def calm():
    """Scripted faults are nobody's news."""
    log = logging.getLogger('franka_dynamics.control')
    before = log.level
    log.setLevel(logging.ERROR)
    yield
    log.setLevel(before)


class Drive:
    """A pair of cores with a simulated arm that obeys the Python one."""

    def __init__(self, core, target='mujoco', command='motion', *, effort=False, **settings):
        self.pair = Pair(core, target, command, **settings)
        adds = target == 'fci'
        # A friction as of real arms; positions never repeat bit for bit.
        self.arm = ArmSimulation(
            core.arm,
            SimulationSettings(
                friction=True,
                gravity_compensation=adds,
                position_noise=1e-7,
                brake_release_after=0.03,
            ),
        )
        self.effort = effort
        self.torque = None

    def run(self, steps, changed=lambda q, dq: (q, dq), own=None):
        """Run steps of 1 ms with states that `changed` changes, and an own law's torque."""
        for _ in range(steps):
            reading = self.arm.read()
            q, dq = changed(reading.position.copy(), reading.velocity.copy())
            torque = self.pair.step(
                q,
                dq,
                reading.time,
                effort=reading.effort.copy() if self.effort else None,
                now=reading.time,
                **({} if own is None else {'own': own(reading.time)}),
            )
            is_new = self.pair.python.output.in_loop or self.pair.python.sends
            self.torque = torque if is_new else self.torque
            self.arm.step(self.torque, is_new=is_new)

    def goes(self, way=0.4, seconds=0.8):
        """Follow a motion that begins a moment later; the compiled core gets its points."""
        home = self.arm.position
        start = self.arm.time + 0.02
        return self.pair.follow([home, home + way], [0.0, seconds], start=start)


def lost(q, dq):
    return np.nan * q, dq


def test_momentum_and_its_gradient_are_those_of_pinocchio(library, tmp_path):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        arm = limited(random_arm(rng, joints=seed + 1), effort=100.0)
        model = fd.Model(arm)
        core = Core(library, arm, tmp_path)
        q, dq, _ = fd.sample_states(arm, 5, seed=seed)
        for position, velocity in zip(q, dq):
            found = core.momenta(position, velocity)
            matrices = model.mass_matrix(position), model.coriolis_matrix(position, velocity).T
            expected = [one @ velocity for one in matrices]
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * scale)


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_recovery_after_a_loss(cores, target):
    drive = Drive(cores['fr3'], target, **GAINS)
    drive.run(100)
    assert drive.goes()
    drive.run(150)
    drive.run(1, lost)
    assert drive.pair.state == 'stopping'
    drive.run(300)
    assert drive.pair.state == 'running'
    for k in range(40):
        drive.pair.tick(drive.arm.time + 1e-3 * k)
    assert drive.pair.state in ('stopping', 'silent')


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_changes_within_a_ramp(cores, target):
    drive = Drive(cores['fer'], target, **GAINS, terms=fd.Terms(friction=True))
    drive.run(60)
    changes = {'payload': LOAD}, {'scale': 0.5}, {'friction_scale': 0.3}, {'kp': (50.0,)}
    for change in (*changes, {'payload': (0.0,) * 4}):
        assert drive.pair.change(**change)
        drive.run(37)
    drive.run(300)


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
@pytest.mark.parametrize('gains', [{}, GAINS], ids=['none', 'firm'])
def test_the_offset_comes_and_goes(cores, target, gains):
    both = fd.Terms(friction=True, offset=True)
    drive = Drive(cores['offset'], target, **gains, terms=both)
    drive.run(100)
    assert drive.goes(0.1, 0.3)
    drive.run(200)
    assert drive.pair.change(terms=fd.Terms(friction=True))
    drive.run(100)
    assert drive.pair.change(terms=both, payload=LOAD)
    drive.run(20)
    drive.pair.stop(Stop.HOLD)
    drive.run(400)
    assert drive.pair.start()
    drive.run(300)


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_the_offset_beside_a_law_that_ceases_at_rest(cores, target):
    drive = Drive(cores['offset'], target, 'law', terms=fd.Terms(offset=True))
    rest = drive.arm.position

    def law(time):
        return 60.0 * (rest - drive.arm.position)

    drive.run(400, own=law)
    assert drive.pair.state == 'running'
    drive.run(100)
    drive.run(300, own=law)


def test_states_that_become_late_are_told(cores):
    pair = Pair(cores['fr3'], 'fci', kp=(600.0,) * 4 + (60.0,) * 3, kd=(2.0,) * 4 + (1.0,) * 3)
    rng = np.random.default_rng(0)
    notes = []
    for k in range(900):
        q = cores['fr3'].arm.home + 1e-9 * rng.normal(size=7)
        age = 0.012 if 200 <= k < 500 else 1e-4
        pair.step(q, np.zeros(7), 1.0 + 1e-3 * k, age=age, now=1.0 + 1e-3 * k + age)
        notes.append(pair.compiled.note)
    assert pair.state == 'running' and not notes[150] and not notes[-1]
    assert 'kp of fr3_joint1' in notes[450] and 'ms late' in notes[450]
    assert len({note for note in notes if note}) == 1  # said once


def test_a_motion_within_the_first_ramp(cores):
    drive = Drive(cores['fr3'], 'mujoco', **GAINS)
    drive.run(40)
    assert drive.pair.state == 'running'
    assert drive.goes(0.1, 0.3)
    drive.run(500)


@pytest.mark.parametrize('then', [Stop.LET_GO, Stop.HOLD])
@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_settings_while_braked_and_held(cores, target, then):
    drive = Drive(cores['fr3'], target, **GAINS)
    drive.run(100)
    assert drive.goes()
    drive.run(200)
    drive.pair.stop(then)
    drive.run(20)
    assert drive.pair.state == 'braking'
    drive.pair.change(kp=(300.0,) * 4 + (30.0,) * 3, payload=LOAD)
    drive.run(1000)
    assert ('holding' in drive.pair.states) == (then is Stop.HOLD)
    drive.pair.change(payload=(0.5, 0.0, 0.0, 0.1))
    drive.run(50)
    drive.pair.start()
    drive.run(300)
    assert {'braking', 'running'} <= drive.pair.states


@pytest.mark.parametrize(('side', 'sign'), [('upper', 1.0), ('lower', -1.0)])
def test_a_joint_that_presses_against_its_stop(cores, side, sign):
    pair = Pair(cores['fr3'], 'mujoco')
    wrist = np.eye(7)[6]
    arm = cores['fr3'].arm
    q = np.where(wrist, arm.limit(side) - 0.01 * sign, arm.home_position)
    pressed = fd.Model(arm).gravity(q) + 5.0 * sign * wrist
    for k in range(1300):  # for 1 s an arm at rest is not judged
        effort = None if k < 1200 else pressed
        stamp = 1.0 + 1e-3 * k
        pair.step(q + 1e-12 * (-1) ** k, np.zeros(7), stamp, effort=effort, now=stamp)
    said = f'fr3_joint7 is at its {side} limit, and may have hit its stop'
    assert any(said in words for words in pair.words)


@pytest.mark.parametrize(('side', 'sign'), [('upper', 1.0), ('lower', -1.0)])
def test_an_impossible_torque_of_an_arm_at_a_stop(cores, side, sign):
    pair = Pair(cores['fr3'], 'mujoco')
    arm = cores['fr3'].arm
    elbow, wrist = np.eye(7)[[3, 5]]
    q = np.where(elbow, arm.limit(side) - 0.01 * sign, arm.home_position)
    for k in range(40):
        effort = None if k < 30 else fd.Model(arm).gravity(q) + 40.0 * wrist
        stamp = 1.0 + 1e-3 * k
        pair.step(q + 1e-12 * (-1) ** k, np.zeros(7), stamp, effort=effort, now=stamp)
    said = (
        f'limit: fr3_joint4 is at its {side} limit, and may have hit its stop, or efforts are not'
    )
    assert any(said in words for words in pair.words)


@pytest.mark.parametrize('effort', [False, True])
def test_a_load_that_nobody_declared(cores, effort):
    drive = Drive(cores['fr3'], 'mujoco', effort=effort, **GAINS)
    drive.run(100)
    drive.arm.set_payload(payload_from_array(np.array((5.0, 0, 0, 0.1, *[0.0] * 6))))
    drive.run(600)
    assert 'holding' in drive.pair.states
    assert any('nobody declared' in words for words in drive.pair.words)


@pytest.mark.parametrize('effort', [False, True])
@pytest.mark.parametrize('declared', [None, 0.5, 1.0])
def test_a_load_that_moves_an_arm_with_gentle_gains(cores, effort, declared):
    arm = cores['fer']
    kp, kd = default_gains(fd.load('fer'))
    gains = {'kp': tuple(kp), 'kd': tuple(kd)}
    load = declared and (declared, 0.0, 0.0, 0.1)
    drive = Drive(arm, 'mujoco', effort=effort, **gains, payload=load)
    drive.run(100)
    if not declared:
        drive.arm.set_payload(payload_from_array(np.array((2.0, 0, 0, 0.1, *[0.0] * 6))))
    drive.run(900)
    word = 'the motion does not show' if declared else 'kg at the flange that nobody declared'
    assert any(' moves at ' in words and word in words for words in drive.pair.words)


def test_wrong_joint_states_are_named(cores):
    for changed, word in (
        (lambda q, dq: (q + 0.3, dq), 'faster than it can'),
        (lambda q, dq: (q, 0.0 * dq), 'all velocities are zero'),
        (lambda q, dq: (q, dq + 2e3), 'can be'),
        (lambda q, dq: (q + 9.0, dq), 'can be'),
        (lambda q, dq: (q, -3.0 * dq), 'from where its velocity'),
    ):
        drive = Drive(cores['fr3'], 'mujoco', **GAINS)
        drive.run(100)
        assert drive.goes(0.4)
        drive.run(200)
        drive.run(150, changed)
        assert any(word in words for words in drive.pair.words), word
        drive.run(30)
        assert drive.pair.start()
        drive.run(100)


def test_times_of_joint_states_are_named(cores):
    pair = Pair(cores['fr3'], 'mujoco', limits=StateLimits(max_state_age=0.05))
    rng = np.random.default_rng(0)
    q = np.array(cores['fr3'].arm.home)
    still = np.zeros(7)
    stamp = 0.0
    for count, step, age in (
        (60, 1e-3, 0.002),
        (5, 0.0, 0.002),
        (1, 0.05, 0.002),
        (60, 1e-3, 0.03),
        (30, 1e-3, 0.06),
        (30, 1e-3, -0.06),
        (60, 9e-3, 0.001),
        (1, 0.3, 0.001),
        (60, 1e-3, 0.001),
        (1, -5.0, 0.001),
        (60, 1e-3, 0.001),
        (30, -1e-3, 0.001),
    ):
        for _ in range(count):
            stamp += step
            noise = 1e-9 * rng.normal(size=7)
            pair.step(q + noise, still, stamp, age=age, now=10.0 + stamp)
    for word in ('ms old', 'ahead of the clock', 'come at', 'was set back'):
        assert any(word in words for words in pair.words), word


def drawn(rng, cores):
    """Return a drive whose arm, target, command and settings are drawn."""
    core = cores[str(rng.choice(['fr3', 'fer']))]
    command = str(rng.choice(['motion', 'law', 'torque']))
    target = str(rng.choice(['mujoco', 'fci']))
    settings = {}
    if command == 'motion':
        settings.update(GAINS)
    if core.arm.friction is not None and command != 'torque' and rng.random() < 0.5:
        settings['terms'] = fd.Terms(friction=True)
    in_loop = bool(rng.random() < 0.6)
    effort = bool(rng.random() < 0.5)
    return Drive(core, target, command, effort=effort, in_loop=in_loop, **settings), command


@pytest.mark.parametrize('seed', range(8))
def test_calls_and_faults_at_random(cores, seed):
    rng = np.random.default_rng(seed)
    drive, command = drawn(rng, cores)
    pair = drive.pair
    loads = (LOAD, (0.0,) * 4, (0.5, 0.02, 0.0, 0.1))
    calls = (
        lambda: pair.stop(list(Stop)[rng.integers(0, 4)]),
        pair.start,
        pair.start,
        pair.reset,
        lambda: pair.change(payload=loads[rng.integers(0, 3)]),
        lambda: pair.change(scale=float(rng.uniform(0.0, 1.0))),
        lambda: drive.run(1, lost, own),
        lambda: drive.run(1, lambda q, dq: (q + 2.0, dq), own),
        lambda: drive.run(1, lambda q, dq: (q, dq + 2e3), own),
        lambda: pair.tick(drive.arm.time),
        lambda: pair.reject_state(drive.arm.time),
        lambda: (
            command == 'motion'
            and not pair.python.reference.has_open_motion
            and drive.goes(rng.uniform(-0.2, 0.2, 7), 1.0)
        ),
    )
    amplitude = rng.uniform(-1.0, 1.0, 7)

    def law(time):
        return amplitude * np.sin(10.0 * time)

    own = None if command == 'motion' else law
    for _ in range(50):
        drive.run(int(rng.integers(1, 60)), own=own)
        calls[rng.integers(0, len(calls))]()
    assert {'silent', 'running'} <= pair.states


@pytest.mark.parametrize('command', ['law', 'torque'])
@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_a_law_that_ceases_and_returns(cores, target, command):
    drive = Drive(cores['fr3'], target, command)

    def law(time):
        return 6.0 * np.sin(8.0 * time) * np.resize([1.0, 0.5], 7) * ([1.0] * 4 + [0.2] * 3)

    drive.run(200, own=law)
    assert drive.pair.state == 'running'
    drive.run(10)
    assert drive.pair.state == 'braking'
    drive.run(100, own=law)
    assert drive.pair.state == 'running'
    drive.run(1500)
    assert drive.pair.state == 'silent'
    drive.run(300, own=law)
    assert drive.pair.state == 'running'


@pytest.mark.parametrize('command', ['law', 'torque'])
@pytest.mark.parametrize('target', ['mujoco', 'fci'])
@pytest.mark.parametrize('in_loop', [False, True])
def test_states_that_freeze_beside_a_law_at_rest(cores, target, command, in_loop):
    drive = Drive(cores['fr3'], target, command, in_loop=in_loop)

    def pulls(begin):
        return lambda time: 60.0 * max(0.0, time - begin) * np.eye(7)[0]

    drive.run(1300, own=pulls(10.0))
    assert drive.pair.state == 'running'
    frozen = drive.arm.position, 0.0 * drive.arm.position
    drive.run(400, lambda q, dq: frozen, own=pulls(1.3))
    assert drive.pair.state == 'silent'
    assert any('bit for bit' in words for words in drive.pair.words)
    drive.pair.start()
    drive.run(100, own=pulls(10.0))
    assert drive.pair.state == 'running'


def test_states_in_a_burst_move_the_torque_by_one_cycle(cores):
    pair = Pair(cores['fr3'], 'mujoco', **GAINS)
    rng = np.random.default_rng(0)
    home = np.array(cores['fr3'].arm.home)
    torques = []
    now = 0.0
    for k in range(600):
        now += 5e-3 if k % 5 == 0 else 0.0
        q = home + 1e-8 * rng.normal(size=7) + (0.03 if k > 300 else 0.0)
        torques.append(pair.step(q, np.zeros(7), 1e-3 * k, now=10.0 + now))
    by_caller = np.array(torques)[4::5]
    assert np.abs(np.diff(by_caller[20:], axis=0)).max() <= 1.0 + 1e-9


JOINT_COUNTS = [(n, BOTH_KINDS) for n in range(1, 13)] + [(1, BOTH_KINDS[:1]), (1, BOTH_KINDS[1:])]


@pytest.mark.parametrize(('n', 'kinds'), JOINT_COUNTS)
def test_arms_of_any_number_of_joints(library, tmp_path, n, kinds):
    rng = np.random.default_rng(n)
    arm = random_arm(rng, joints=n, kinds=kinds)
    arm = limited(arm, effort=2000.0, effort_rate=1e4, acceleration=10.0, jerk=1e3)
    joints = tuple(replace(joint, rotor_inertia=0.3) for joint in arm.joints)
    friction = ViscousCoulombFriction(np.full(n, 0.2), np.full(n, 0.3), np.zeros(n))
    core = Core(library, replace(arm, joints=joints, friction=friction), tmp_path)
    kp, kd = default_gains(core.arm, 0.05)
    drive = Drive(core, 'mujoco', effort=n % 2 == 1, kp=tuple(kp), kd=tuple(kd))
    drive.run(100)
    assert drive.goes(0.05, 0.4)
    drive.run(100)
    drive.pair.change(payload=(0.3, 0.0, 0.0, 0.05))
    drive.run(100)
    drive.run(1, lost)
    drive.run(350)
    drive.pair.stop(Stop.HOLD)
    drive.run(200)
    assert drive.pair.start()
    drive.run(50)
    assert {'stopping', 'braking', 'holding', 'running'} <= drive.pair.states
