# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated C++ core and receiver, compiled by g++, against the Python node's control path."""

from contextlib import nullcontext
import ctypes
from dataclasses import replace
import functools
from itertools import pairwise
import math
import os
from pathlib import Path
import random
import re
import subprocess
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from franka_dynamics.arm import load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.cli.main import main
from franka_dynamics.control.braking import BRAKING_TIME_CONSTANT_S
from franka_dynamics.control.receiver import ReceiverState, Refusal
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.control.state_check import MIN_GOOD_STATE_COUNT
from franka_dynamics.control.terms import FrictionFeedforward, TermModel
from franka_dynamics.cpp_package.controller_test_vectors import controller_test_vectors
from franka_dynamics.cpp_package.package import cpp_package_files
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import DescriptionError, SettingsError
from franka_dynamics.parameter_schema import specs
from franka_dynamics.urdf.importer import import_urdf
from franka_dynamics.urdf.writer import urdf_text

from .cpp_core import ATOL, compiled, compiled_program, needs_compiler, packed, PAYLOAD, Receiver
from ..agreement import refuses
from ..arms import random_covariance
from ..urdf.urdf_texts import edited

pytestmark = needs_compiler
# Largest allowed values of the settings; the C++ package has its own.
RANGES = {spec.name: spec.bounds for name in ('torque', 'motion') for spec in specs(name)}
INCLINED = (2.0, -3.0, -9.12)


def identified(name, model):
    """Return an arm with a random friction, as identification writes it."""
    rng = np.random.default_rng(7)
    rows = rng.uniform(0.1, 0.6, (3 if model is ViscousCoulombFriction else 5, 7))
    covariance = random_covariance(rng, 7, len(rows), 0.05)
    if model is ViscousCoulombFriction:
        friction = model(*rows, covariance=covariance)
    else:
        friction = model(*rows[:3], rows[3:], (0.004, 0.3), covariance=covariance)
    return replace(load(name), friction=friction)


ARMS = {
    'fer': load('fer'),  # sigmoids
    'fr3': identified('fr3', MaxwellSlipFriction),
    'fr3v2': identified('fr3v2', ViscousCoulombFriction),
    'bare': load('fr3'),  # no friction
}


def based(rpy):
    """Return an FR3 whose file turns the base."""
    base = np.eye(4)
    base[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    return replace(load('fr3'), base=base)


def endless(arm):
    """Return an arm whose last joint has no limits of position."""
    *joints, last = arm.joints
    limits = replace(last.limits, lower=-np.inf, upper=np.inf)
    return replace(arm, joints=(*joints, replace(last, limits=limits)))


UPRIGHT = "joint[@name='fr3_link0_joint']/origin"
WALL = edited(urdf_text(load('fr3')), UPRIGHT, rpy='1.5708 0.2 0.3')
OTHERS = {
    'inclined': based((0.5, 0.0, 0.0)),
    'turned': endless(based((0.0, 0.0, 0.5))),
    'wall': import_urdf(WALL),
}


@pytest.fixture(scope='module')
def core(tmp_path_factory):
    """Return a function that compiles a caller of an arm's core, once."""

    @functools.cache
    def build(name):
        folder = tmp_path_factory.mktemp('cpp')
        if name == 'fer':
            options = ['--arm', name, '--package', 'my_arm', '--output', str(folder)]
            assert main(['codegen', *options]) == 0
            return compiled({}, folder / 'my_arm')
        return compiled(cpp_package_files({**ARMS, **OTHERS}[name], 'my_arm'), folder)

    return build


@pytest.fixture(params=ARMS)
def built(request, core):
    return ARMS[request.param], core(request.param)


@pytest.fixture(params=[name for name, arm in ARMS.items() if arm.friction])
def rubbing(request, core):
    return ARMS[request.param], core(request.param)


SETTINGS = {
    'fci': Settings(),
    'fci_inclined_unknown_payload': Settings(
        gravity_vector=INCLINED, payload=PAYLOAD, payload_known_to_robot=False
    ),
    'fci_known_payload': Settings(payload=PAYLOAD),
    'fci_unknown_payload': Settings(payload=PAYLOAD, payload_known_to_robot=False),
    'mujoco_payload': Settings(target='mujoco', payload=PAYLOAD, gravity_vector=INCLINED),
}


@pytest.mark.parametrize('name', SETTINGS)
def test_the_compiled_controller_has_the_terms_of_the_node(built, name):
    arm, library = built
    settings, states = SETTINGS[name], sample_states(arm, 200, seed=3)
    found = np.full((4, 200, arm.n), np.nan)
    library.terms(200, packed(settings), *states, *found)
    model = TermModel(arm, settings)
    for row, (q, dq, ddq) in zip(np.moveaxis(found, 1, 0), zip(*states)):
        gravity = model.gravity(q)
        left = model.gravity_to_command(q, gravity)
        expected = [gravity, left, model.coriolis(q, dq), model.inertia_torque(q, ddq)]
        np.testing.assert_allclose(row, expected, rtol=0.0, atol=ATOL)


def played(library, text, folder):
    """Return what the package's own test returns for a file, its cycles and largest difference."""
    (folder / 'vectors.csv').write_text(text)
    cycles, largest = ctypes.c_int(), ctypes.c_double()
    path = str(folder / 'vectors.csv').encode()
    return library.vectors(path, cycles, largest), cycles.value, largest.value


def test_the_packages_own_test_finds_the_python_controllers_torques_and_states(built, tmp_path):
    arm, library = built
    text = controller_test_vectors(arm)
    rows = [line.split(',') for line in text.splitlines()]
    state, cycles = 2 + 2 * arm.n, [row for row in rows if row[0] == 'cycle']
    states = [row[state] for row in cycles]
    assert set(states) == {state.word for state in ReceiverState} - {'waiting'}
    # For both targets the rows hold a braked arm that gets faster, and a braked arm at a position
    # beyond its limits.
    assert list(pairwise(states)).count(('braking', 'fault')) == 4
    assert {row[2] for row in rows if row[0] == 'message'} == {'heard', *Refusal}
    different, count, largest = played(library, text, tmp_path)
    assert not different
    assert count == len(cycles) > 1000 and largest < ATOL
    # Another torque, state or answer is noticed.
    for column, other in ((-1, '1e3'), (state, 'stopped')):
        wrong = [*cycles[0]]
        wrong[column] = other
        changed = text.replace(','.join(cycles[0]), ','.join(wrong), 1)
        assert played(library, changed, tmp_path)[0]
    assert played(library, text.replace(',heard,', ',wrong size,', 1), tmp_path)[0]


@pytest.mark.parametrize(
    ('what', 'joint', 'value', 'ends'),
    [
        ('position', 2, np.nan, 'braking'),
        ('position', 0, np.inf, 'braking'),
        ('velocity', 4, np.nan, 'braking'),
        ('position', 3, 0.5, 'fault'),  # joint 4 of no Franka arm gets there
        ('velocity', 1, -6.0, 'fault'),  # nor is joint 2 of one as fast
        ('velocity', 1, 1e6, 'fault'),
        ('position', 0, 0.1, 'following'),
    ],
)
def test_a_state_that_cannot_be_trusted_leads_to_the_resting_torque(
    built, what, joint, value, ends
):
    arm, library = built
    controller, home = Receiver(library, Settings(target='mujoco'), 'motion'), np.array(arm.home)
    q, dq = home.copy(), np.zeros(arm.n)
    assert controller.cycle(q, np.full(arm.n, 0.1))[1] == 'following'
    (q if what == 'position' else dq)[joint] = value
    for _ in range(300):  # the stop by the model included
        torque, state = controller.cycle(q, dq)
    usable = ends == 'following'
    assert state == ('following' if usable else 'fault')
    held = TermModel(arm, Settings(target='mujoco')).gravity(q if usable else home)
    np.testing.assert_allclose(torque, held, rtol=0.0, atol=ATOL)
    # After states that were missing it is braked again, but not before MIN_GOOD_STATE_COUNT
    # others.
    states = [controller.cycle(home, np.zeros(arm.n))[1] for _ in range(MIN_GOOD_STATE_COUNT)]
    assert states == ['following' if usable else 'fault'] * (MIN_GOOD_STATE_COUNT - 1) + [ends]
    controller.restart()
    assert controller.cycle(home, np.zeros(arm.n))[1] == 'following'


def test_an_infinite_position_of_a_joint_without_limits_is_a_fault(core):
    settings, arm = Settings(target='mujoco'), OTHERS['turned']
    controller, still, q = (
        Receiver(core('turned'), settings, 'motion'),
        np.zeros(7),
        arm.home_position,
    )
    assert controller.cycle(q, still)[1] == 'following'
    for _ in range(50):
        torque, state = controller.cycle(np.where(np.arange(7) == 6, np.inf, q), still)
    assert state == 'fault'
    held = TermModel(arm, settings).gravity(q)
    np.testing.assert_allclose(torque, held, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('limited', [False, True])
def test_the_gains_hold_a_braked_arm_where_braking_began_or_limits_held_back_its_torque(
    built, limited
):
    arm, library = built
    effort = arm.limit('effort')
    gains = {'kp': tuple(0.5 * effort), 'kd': tuple(0.02 * effort)}
    settings = Settings(target='mujoco', **gains)
    receiver, still = Receiver(library, settings, 'motion'), np.zeros(arm.n)
    q, moved = np.array(arm.home), np.array(arm.home) + 0.02
    for given, name in ((q, 'following'), (q * np.nan, 'fault')):
        assert receiver.cycle(given, still)[1] == name
    assert [receiver.cycle(q, still)[1] for _ in range(MIN_GOOD_STATE_COUNT)][-1] == 'braking'
    if limited:
        receiver.cycle(moved, np.ones(arm.n))
    else:  # gravity changes on the way
        for share in np.linspace(0.0, 1.0, 20):
            receiver.cycle(q + share * (moved - q), still)
    for speed, name in ((0.0, 'holding'), (0.1, 'holding')):
        dq = np.full(arm.n, speed)
        for _ in range(50):
            torque, state = receiver.cycle(moved, dq)
        model = NewtonEulerModel(arm)
        # A critically damped joint, as far as kd does not damp it by itself.
        away, kd = 0.02 * (not limited), np.array(gains['kd'])
        missing = 1.0 - np.minimum(
            1.0, kd * BRAKING_TIME_CONSTANT_S / model.mass_matrix(moved).diagonal()
        )
        wanted = -dq / BRAKING_TIME_CONSTANT_S - away / (4.0 * BRAKING_TIME_CONSTANT_S**2)
        slowed = model.inverse_dynamics(moved, dq, missing * wanted)
        pulls = away * np.array(gains['kp']) + kd * dq
        assert state == name
        # The torque of the light wrist is not limited.
        np.testing.assert_allclose(torque[:4], (slowed - pulls)[:4], rtol=0.0, atol=ATOL)


def test_gains_that_change_while_a_position_is_held_begin_by_a_ramp_and_pull_no_guided_arm(built):
    arm, library = built
    still, effort = np.zeros(arm.n), arm.limit('effort')
    stiff = Settings(target='fci', kp=tuple(0.5 * effort), kd=tuple(0.02 * effort))
    receiver = Receiver(library, stiff, 'motion')

    def torques(q, count):
        return np.array([receiver.cycle(q, still)[0] for _ in range(count)])

    begun = torques(np.array(arm.home), 250)[-1]
    aside = np.array(arm.home) + 0.02
    last = torques(aside, 250)[-1]
    assert np.abs(last - begun).min() > 0.1 and np.abs(last - begun).max() > 0.5  # [N m]
    receiver.configure(replace(stiff, kp=(0.0,), kd=(0.002,)))
    after = np.vstack((last, torques(aside, 250)))
    assert np.abs(np.diff(after, axis=0)).max() < 2.0 * np.abs(last).max() / 200
    receiver.configure(stiff)
    guided = torques(aside + 0.2, 250)[-1]
    np.testing.assert_allclose(guided, 0.0, rtol=0.0, atol=ATOL)


def test_a_held_arm_keeps_the_gains_with_which_it_was_braked(built):
    arm, library = built
    still, effort = np.zeros(arm.n), arm.limit('effort')
    soft = Settings(target='mujoco', kp=tuple(0.5 * effort), kd=tuple(0.02 * effort))
    receiver, q = Receiver(library, soft, 'motion'), np.array(arm.home)
    for given in (q, q * np.nan, *[q] * 50):
        receiver.cycle(given, still)
    sagged = q + 0.02  # under a load that nobody told
    before = [receiver.cycle(sagged, still) for _ in range(50)][-1]
    receiver.configure(replace(soft, kp=tuple(5.0 * effort), kd=tuple(0.2 * effort)))
    after = [receiver.cycle(sagged, still) for _ in range(50)][-1]
    assert before[1] == after[1] == 'holding'
    np.testing.assert_allclose(after[0], before[0], rtol=0.0, atol=ATOL)


MUJOCO, TURN = {'target': 'mujoco'}, {'gravity_vector': INCLINED}


@pytest.mark.parametrize(
    ('arm', 'change', 'message'),
    [
        *(
            ('fr3', change, message)
            for change, message in (
                ({'scale': RANGES['scale'][1]}, None),
                ({'scale': RANGES['scale'][1] + 1e-9}, b'scale must be within 0 and 1'),
                ({'kp': (-1.0,)}, b'kp and kd must be'),
                ({'gravity_vector': (0.0, 0.0, -1.6)}, b'the target compensates gravity'),
                ({'payload': (-1.0, *[0.0] * 9)}, b'a mass cannot be negative'),
                ({'payload': (0.0, 0.1, *[0.0] * 8)}, b'payload has no mass'),
                ({'payload': (1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1)}, b'belongs to no real body'),
                ({'payload': (float('nan'), *[0.0] * 9)}, b'ten finite numbers'),
                ({'payload': (5.0, *[0.0] * 9)}, b'more than the rated load'),
                ({'payload': (1.0, 60.0, *[0.0] * 8)}, b'are these millimetres'),
                ({'kp': (1000.0,)}, b'25 and 3 times the joint'),
                ({'terms': Terms(friction=True)}, None),
                ({'payload': PAYLOAD}, None),
            )
        ),
        ('bare', {**MUJOCO, 'terms': Terms(friction=True)}, b'no friction model'),
        ('inclined', {}, b'rotates the base'),
        ('inclined', MUJOCO, None),
        ('inclined', {**MUJOCO, **TURN}, b'rotates the base'),
        ('turned', {}, None),
        ('wall', {}, b'rotates the base'),
        ('wall', MUJOCO, None),
    ],
)
def test_impossible_settings_are_refused_in_one_sentence_as_by_the_node(
    core, arm, change, message
):
    settings = replace(Settings(), **change)
    answer = core(arm).refusal(packed(settings))
    assert answer is None if message is None else message in answer
    with pytest.raises(SettingsError) if message else nullcontext():
        settings.validate({**ARMS, **OTHERS}[arm])


def test_gravity_in_the_frame_of_a_base_that_is_turned_is_refused(core):
    # The node turns gravity with the base.
    assert b'rotates the base' in core('turned').refusal(packed(Settings(**TURN)))


def test_a_tilted_mount_of_a_urdf_is_in_the_compiled_gravity(core):
    states, found = sample_states(OTHERS['wall'], 20, seed=3), np.empty((4, 20, 7))
    core('wall').terms(20, packed(Settings(target='mujoco')), *states, *found)
    model = pin.buildModelFromXML(WALL)
    data = model.createData()
    expected = [pin.computeGeneralizedGravity(model, data, q).copy() for q in states.q]
    np.testing.assert_allclose(found[1], expected, rtol=0.0, atol=ATOL)


def test_vectors_declare_no_load_that_the_arm_may_not_carry_beside_its_hand():
    handed = load('fr3', hand='franka_hand')
    assert controller_test_vectors(handed) != controller_test_vectors(replace(handed, carried=2.9))


def test_friction_is_the_nodes_and_forgets_where_the_arm_was_moved_unseen(rubbing):
    arm, library = rubbing
    rng, count = np.random.default_rng(5), 1000
    # Random-walk positions, and velocities of which some count as rest.
    q = 0.004 * rng.uniform(0.1, 5.0, arm.n) * rng.normal(size=(count, arm.n)).cumsum(axis=0)
    dq = rng.choice([0.003, 0.03, 1.0], (count, 1)) * rng.normal(size=(count, arm.n))
    # Gaps just below and above the longest allowed one, and steps back in time.
    steps = rng.choice([1e-3, 0.049, 0.051, -1e-3, 0.0], count, p=[0.96, 0.01, 0.01, 0.01, 0.01])
    times = steps.cumsum()
    kp = np.array([0.0, 1.0, *np.zeros(arm.n - 2)])
    model, expected = FrictionFeedforward(arm.friction, kp > 0.0), []
    measured = dq * (1.0 + rng.choice([-0.1, 0.03, 0.5], dq.shape))
    for stamp, position, velocity, moved in zip(times.tolist(), q, dq, measured):
        model.update(stamp, position)
        expected.append(model.torque(velocity, moved))
    found, steady, never = np.full((3, *q.shape), np.nan)
    library.friction(count, kp, times, q, dq, measured, found, steady)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(steady, arm.friction.torque(dq), rtol=0.0, atol=ATOL)
    if isinstance(arm.friction, MaxwellSlipFriction):
        library.friction(count, kp, 1e-3 * np.arange(count), q, dq, measured, never, steady)
        assert np.abs(never - found).max() > 0.1  # the gaps matter


def test_a_set_point_with_velocity_that_ceases_makes_no_step(built):
    arm, library = built
    controller = Receiver(library, Settings(target='mujoco', kp=(30.0,), kd=(3.0,)), 'motion')
    velocity, q, torques = np.full(arm.n, 0.5), np.array(arm.home), []
    for k in range(600):
        if k < 300:
            q = arm.home + 5e-4 * k * np.ones(arm.n)
            assert controller.receive(np.concatenate([q, velocity, 0.0 * q])) == 'heard'
        # The arm moves on for a moment; 3 N m s/rad of 0.5 rad/s fade out over 0.2 s.
        torque, state = controller.cycle(q, velocity)
        assert state == 'following'
        torques.append(torque)
    assert np.abs(np.diff(torques[200:], axis=0)).max() < 0.1
    # Then only the position is wanted.
    damped = NewtonEulerModel(arm).nonlinear_effects(q, velocity) - 3.0 * velocity
    np.testing.assert_allclose(torque, damped, rtol=0.0, atol=ATOL)


def test_two_packages_do_not_overwrite_each_others_plugins():
    # A merged workspace installs all libraries into one folder.
    def libraries(name):
        files = cpp_package_files(load('fr3'), name)
        plugins = [text for path, text in files.items() if path.endswith('plugins.xml')]
        found = {ElementTree.fromstring(text).get('path') for text in plugins}
        assert found == set(re.findall(r'OUTPUT_NAME (\w+)', files['CMakeLists.txt']))
        return found

    assert len(libraries('fr3_feedforward') | libraries('fr3_hand_feedforward')) == 4


@pytest.mark.parametrize(
    ('arm', 'name', 'named'),
    [
        ('fer', 'My_arm', "'My_arm' cannot be the name"),
        ('fer', 'a__b', "'a__b' cannot be the name"),
        ('fer', 'double', "'double' is a word of C++"),
        ('scemi', 'scemi', 'joint1 has no torque limit'),
    ],
)
def test_a_package_that_cannot_be_built_is_refused(arm, name, named):
    with refuses(DescriptionError, named):
        cpp_package_files(load(arm), name)


# The receiver -----------------------------------------------------------------------------------

BARE = ARMS['bare']
EFFORT = BARE.limit('effort')
STILL = np.zeros(BARE.n)
STEP = 1.0  # N m in a cycle, the rate limit of the FR3


def cycles(receiver, count, *, torque=None, publisher=1, q=BARE.home, dq=STILL):
    """Run cycles, each after a message if a torque is given; return torques and states."""
    rows = []
    for _ in range(count):
        if torque is not None:
            assert receiver.receive(torque, publisher) == 'heard'
        rows.append(receiver.cycle(q, dq))
    return np.array([row[0] for row in rows]), [row[1] for row in rows]


@pytest.mark.parametrize('command', ['torque', 'total_torque'])
def test_torques_are_followed_with_the_terms_or_without(core, command):
    dq, given = np.full(BARE.n, 0.3), np.linspace(-5.0, 5.0, BARE.n)
    torques, states = cycles(
        Receiver(core('bare'), Settings(target='mujoco'), command), 300, torque=given, dq=dq
    )
    assert set(states) == {'following'}
    model = NewtonEulerModel(BARE)
    terms = model.gravity(BARE.home) + model.coriolis(BARE.home, dq)
    expected = given + (terms if command == 'torque' else 0.0)
    np.testing.assert_allclose(torques[-1], expected, rtol=0.0, atol=ATOL)
    # The torque goes from the arm's gravity torque to the commanded one, within the rate limit.
    assert np.abs(torques[0] - model.gravity(BARE.home)).max() <= STEP + ATOL
    assert np.abs(np.diff(torques, axis=0)).max() <= STEP + ATOL


def test_a_restart_forgets_the_last_torque_and_its_publisher(core):
    receiver = Receiver(core('bare'), Settings())
    cycles(receiver, 10, torque=np.full(BARE.n, 2.0), publisher=1)
    assert receiver.receive(np.full(BARE.n, 3.0), 1) == 'heard'
    receiver.restart()
    torque, state = receiver.cycle(BARE.home, STILL)
    assert np.isnan(torque).all() and state == 'waiting'
    assert receiver.receive(np.full(BARE.n, -2.0), 2) == 'heard'


UPPER, VELOCITY, ACCELERATION = (
    BARE.limit(name)[0] for name in ('upper', 'velocity', 'acceleration')
)


@pytest.mark.parametrize(
    ('command', 'index', 'value', 'answer'),
    [
        # As the receiver in Python (test/control/test_receiver.py).
        ('total_torque', 0, EFFORT[0], 'heard'),
        ('total_torque', 0, EFFORT[0] + 1e-9, 'out of bounds'),
        ('total_torque', 6, -EFFORT[6] - 1e-9, 'out of bounds'),
        ('total_torque', 6, -1e308, 'out of bounds'),
        ('total_torque', 3, math.nan, 'not finite'),
        ('total_torque', 3, math.inf, 'not finite'),
        ('motion', 0, UPPER + 0.19, 'heard'),
        ('motion', 0, UPPER + 0.21, 'out of bounds'),
        ('motion', BARE.n, 10.0 * VELOCITY, 'heard'),
        ('motion', BARE.n, 10.1 * VELOCITY, 'out of bounds'),
        ('motion', 2 * BARE.n, -10.1 * ACCELERATION, 'out of bounds'),
        ('motion', 2 * BARE.n, 1e308, 'out of bounds'),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(core, command, index, value, answer):
    receiver = Receiver(core('bare'), Settings(), command)
    values = np.concatenate([BARE.home, STILL, STILL]) if command == 'motion' else STILL.copy()
    values[index] = value
    assert receiver.receive(values) == answer
    assert receiver.receive(values[:-1]) == 'wrong size'
    assert receiver.receive(np.append(values, 0.0)) == 'wrong size'


@pytest.mark.parametrize('elapsed', [math.nan, -1.0, 0.0])
def test_without_time_passing_the_torque_stays(core, elapsed):
    receiver = Receiver(core('bare'), Settings(target='mujoco'))
    torques, _ = cycles(receiver, 300, torque=np.full(BARE.n, 2.0))
    receiver.receive(np.full(BARE.n, 5.0))
    torque, _ = receiver.cycle(BARE.home, STILL, elapsed)
    np.testing.assert_array_equal(torque, torques[-1])
    cycles(receiver, 20, torque=np.full(BARE.n, 5.0))
    for _ in range(90):  # in silence too
        last, state = receiver.cycle(BARE.home, STILL)
    assert state == 'holding'
    torque, _ = receiver.cycle(BARE.home, STILL, elapsed)
    np.testing.assert_array_equal(torque, last)


SOURCE = Path(__file__).parent / 'nonsense.cpp'
# `make fuzz` tries more inputs, and different ones each time.
FUZZ = os.environ.get('FRANKA_DYNAMICS_FUZZ')
CYCLES, SEED = 100 * int(FUZZ or 400), random.randrange(2**32) if FUZZ else 0


def output(program, *words):
    """Run a program that must not end by a sanitizer; return the numbers of its lines."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=580)
    assert done.returncode == 0 and not done.stderr, f'{words}: {done.stderr[:3000]}'
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.parametrize('arm', ['fr3', 'fer', 'fr3v2'] if FUZZ else ['fr3'])
def test_commands_stay_finite_and_within_limit_and_rate_whatever_comes_in(arm, tmp_path):
    files = cpp_package_files(ARMS[arm], 'my_arm')
    program = compiled_program(files, SOURCE, tmp_path, sanitizers='address,undefined')
    feedforward, receiver = output(program, SEED, CYCLES)
    for commands, *wrong in (feedforward, receiver):
        assert commands > CYCLES / 4, f'seed {SEED}'
        assert wrong == [0, 0, 0], f'not finite, too large, too fast: {wrong}, seed {SEED}'


def test_a_command_read_beside_its_writing_is_whole(tmp_path):
    files = cpp_package_files(ARMS['fr3'], 'my_arm')
    program = compiled_program(files, SOURCE, tmp_path, sanitizers='thread')
    ((read, mixed),) = output(program, 'threads', CYCLES)
    assert read > 0 and mixed == 0
