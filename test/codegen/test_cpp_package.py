# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated C++ core, compiled by g++, against the Python node's own control path."""

from contextlib import nullcontext
from dataclasses import replace
import functools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from franka_dynamics.arm import load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import main
from franka_dynamics.codegen.cpp_package import cpp_package
from franka_dynamics.control.braking import Brake
from franka_dynamics.control.feedforward import Limits, State
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.control.terms import FrictionFeedforward, TermModel
from franka_dynamics.errors import DescriptionError, SettingsError
from franka_dynamics.parameter_schema import specs

from .cpp_core import (
    ATOL,
    BRAKE,
    compiled,
    needs_compiler,
    packed,
    PAYLOAD,
    run,
    STOP_TO_ZERO,
    WITH_REFERENCE,
)
from ..control.closed_loop import Loop

pytestmark = needs_compiler
# Largest allowed values of the settings; the C++ package has its own.
RANGES = {spec.name: spec.maximum for name in ('torque', 'motion') for spec in specs(name)}
INCLINED = (2.0, -3.0, -9.12)


def identified(name, model):
    """Return an arm with a random friction, as identification writes it."""
    rng = np.random.default_rng(7)
    rows = rng.uniform(0.1, 0.6, (3 if model is ViscousCoulombFriction else 6, 7))
    deviations = rng.uniform(0.0, 0.05, rows.shape)
    if model is ViscousCoulombFriction:
        friction = model(*rows, deviations=deviations)
    else:
        friction = model(*rows[:4], rows[4:], (0.004, 0.3), deviations=deviations)
    return replace(load(name), friction=friction)


ARMS = {
    'fer': load('fer'),  # sigmoids
    'fr3': identified('fr3', MaxwellSlipFriction),
    'fr3v2': identified('fr3v2', ViscousCoulombFriction),
    'bare': load('fr3'),  # no friction
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
        return compiled(cpp_package(ARMS[name], 'my_arm'), folder)

    return build


@pytest.fixture(scope='module')
def rotated_core(tmp_path_factory):
    """Return a function: an FR3 whose file turns the base, and its compiled core."""

    @functools.cache
    def build(rpy):
        base = np.eye(4)
        base[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
        arm = replace(load('fr3'), base=base)
        return arm, compiled(cpp_package(arm, 'my_arm'), tmp_path_factory.mktemp('rotated'))

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
    settings, states = SETTINGS[name], sample_states(arm, 1000, seed=3)
    found = np.full((4, 1000, arm.n), np.nan)
    library.terms(1000, packed(settings), *states, *found)
    model = TermModel(arm, settings)
    for row, (q, dq, ddq) in zip(np.moveaxis(found, 1, 0), zip(*states)):
        gravity = model.gravity(q)
        left = model.gravity_to_command(q, gravity)
        expected = [gravity, left, model.coriolis(q, dq), model.inertia(q, ddq)]
        np.testing.assert_allclose(row, expected, rtol=0.0, atol=ATOL)


def test_the_compiled_limiter_gives_the_nodes_torques_bit_by_bit(built):
    arm, library = built
    rng = np.random.default_rng(5)
    desired, previous = rng.uniform(-120.0, 120.0, (2, 5000, arm.n))
    # Half of them are near the previous torque, so that none, one or both limits act.
    desired[::2] = previous[::2] + rng.uniform(-2.0, 2.0, desired[::2].shape)
    elapsed = rng.choice([-1.0, 0.0, 1e-4, 1e-3, 0.5], 5000)
    found = np.empty_like(desired)
    library.limits(len(desired), desired, previous, elapsed, found)
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    expected = [limiter.limit(*row) for row in zip(desired, previous, elapsed)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ('joint', 'value', 'named'),
    [
        (2, np.nan, b'not finite'),
        (0, np.inf, b'not finite'),
        (3, 0.5, b'out of its range'),  # joint 4 of no Franka arm gets there
        (0, 0.1, None),
    ],
)
def test_a_state_that_cannot_be_trusted_ends_the_torques(built, joint, value, named):
    arm, library = built
    q, still = np.tile(arm.home, (2, 1)), np.zeros((2, arm.n))
    q[1, joint] = value
    found, fault = run(library, Settings(), np.zeros(2), np.array([0.0, 1e-3]), q, *[still] * 4)
    assert fault is None if named is None else named in fault
    assert np.isfinite(found).all(axis=1).tolist() == [True, named is None]


def test_friction_of_an_arm_without_a_friction_model_is_refused(core):
    settings = Settings(target='mujoco', terms=Terms(friction=True))
    assert b'no friction model' in core('bare').refusal(packed(settings))


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'scale': RANGES['scale']}, None),
        ({'scale': RANGES['scale'] + 1e-9}, b'scale must be within 0 and 1'),
        ({'kp': (-1.0,)}, b'kp and kd must be'),
        ({'gravity_vector': (0.0, 0.0, -1.6)}, b'the target compensates gravity by itself'),
        ({'payload': (-1.0, *[0.0] * 9)}, b'a mass cannot be negative'),
        ({'payload': (0.0, 0.1, *[0.0] * 8)}, b'payload has no mass'),
        ({'payload': (1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1)}, b'belongs to no real body'),
        ({'payload': (float('nan'), *[0.0] * 9)}, b'ten finite numbers'),
        ({'payload': (5.0, *[0.0] * 9)}, b'more than the rated load'),
        ({'payload': (1.0, 60.0, *[0.0] * 8)}, b'are these millimetres'),
        ({'kp': (1000.0,)}, b'25 and 3 times the joint'),
        ({'terms': Terms(friction=True)}, b'terms.friction is on'),
        ({'payload': PAYLOAD}, None),
    ],
)
def test_impossible_settings_are_refused_in_one_sentence(built, change, message):
    arm, library = built
    answer = library.refusal(packed(replace(Settings(), **change)))
    assert answer is None if message is None else message in answer
    with pytest.raises(SettingsError) if message else nullcontext():  # as the node says
        replace(Settings(), **change).validate(arm)


def test_friction_is_the_nodes_and_forgets_where_the_arm_was_moved_unseen(rubbing):
    arm, library = rubbing
    rng, count = np.random.default_rng(5), 1000
    # Random-walk positions, and velocities of which some count as rest.
    q = 0.004 * rng.uniform(0.1, 5.0, arm.n) * rng.normal(size=(count, arm.n)).cumsum(axis=0)
    dq = rng.choice([0.003, 0.03, 1.0], (count, 1)) * rng.normal(size=(count, arm.n))
    # Gaps just below and above the longest allowed one, and steps back in time.
    steps = rng.choice([1e-3, 0.049, 0.051, -1e-3, 0.0], count, p=[0.96, 0.01, 0.01, 0.01, 0.01])
    times = steps.cumsum()
    model, expected = FrictionFeedforward(arm.friction), []
    for stamp, position, velocity in zip(times.tolist(), q, dq):
        model.follow(stamp, position)
        expected.append(model.torque(velocity))
    found, steady, never = np.full((3, *q.shape), np.nan)
    library.friction(count, times, q, dq, found, steady)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(steady, arm.friction.torque(dq), rtol=0.0, atol=ATOL)
    if isinstance(arm.friction, MaxwellSlipFriction):
        library.friction(count, 1e-3 * np.arange(count), q, dq, never, steady)
        assert np.abs(never - found).max() > 0.1  # the gaps matter


def recorded(arm, settings):
    """Run the Python core on a simulated arm; return states, references and torques."""
    limits = Limits(max_state_age=0.0, joint_factors=(10.0,))
    loop = Loop(
        settings,
        description=arm,
        friction=True,
        payload=settings.payload_inertia(),
        gravity=settings.gravity_vector,
        # The simulated arm's friction is random and not declared to the core.
        controller={'limits': limits},
    )
    controller, rows = loop.controller, []
    before = False  # whether the reference was active before the cycle, in which it may end

    def note(reading):
        nonlocal before
        motion = controller.reference.motion
        point = None if motion is None else motion.at(reading.time)
        if point is None or not (before or controller.reference.active):
            point, flags = 3 * [np.zeros(arm.n)], 0
        else:
            flags = WITH_REFERENCE
        torque = controller.torque if controller.sends else np.full(arm.n, np.nan)
        rows.append((flags, reading.time, reading.position, reading.velocity, *point, torque))
        before = controller.reference.active

    for seconds, offset, duration in ((0.4, 0.15, 0.5), (0.7, -0.1, 0.6), (0.8, 0.0, 0.3)):
        loop.run(seconds, note)
        rest = np.zeros((2, arm.n))
        ends = np.stack([controller.reference.motion.at(loop.arm.time).q, arm.home + offset])
        controller.follow(ends, [0.0, duration], rest, rest)
        before = controller.reference.active
    assert controller.state is State.RUNNING, controller.status
    return [np.array(column) for column in zip(*rows)]


def test_a_simulated_run_has_the_nodes_torques(rubbing):
    arm, library = rubbing
    settings = Settings(
        target='mujoco',
        terms=Terms(friction=True),
        payload=PAYLOAD,
        gravity_vector=(0.5, -0.4, -9.78),
        kp=(30.0,),
        kd=(3.0,) * 4 + (0.5, 0.5, 0.05),
        scale=0.9,
    )
    *columns, expected = recorded(arm, settings)
    first = int(np.flatnonzero(np.isfinite(expected).all(axis=1))[0])
    found, fault = run(library, settings, *(column[first:] for column in columns))
    assert fault is None
    np.testing.assert_allclose(found, expected[first:], rtol=0.0, atol=ATOL)
    assert np.abs(columns[3]).max() > 0.2  # the run contains motion


def test_a_brake_gives_the_cores_torques_and_then_the_resting_torque(built):
    # The Python core also compensates what the model does not explain; here that is nothing.
    arm, library = built
    settings, count, begin = Settings(target='mujoco'), 400, 50
    times = 1e-3 * np.arange(count)
    speed = 0.4 * np.exp(-np.maximum(0.0, times - times[begin]) / 0.03)
    direction = np.array([1.0, -0.5, 0.3, 0.7, -1.0, 0.4, 0.8])
    dq = np.outer(speed, direction)
    q = arm.home + 1e-3 * np.cumsum(dq, axis=0)
    still, what = np.zeros_like(q), np.zeros(count)
    what[begin] = BRAKE
    found, fault = run(library, settings, what, times, q, dq, still, still, still)
    assert fault is None
    model, brake = TermModel(arm, settings), Brake(arm)
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    last, expected = found[begin - 1], []
    for row in range(begin, count):
        state = model.at(times[row], q[row], dq[row], None)
        slowed = brake.torque(state, model, np.zeros(arm.n), 1e-3)
        if brake.at_rest:
            break
        last = limiter.limit(state.gravity + state.coriolis + slowed, last, 1e-3)
        expected.append(last)
    assert 60 < len(expected) < 300
    compared = found[begin : begin + len(expected)]
    np.testing.assert_allclose(compared, expected, rtol=0.0, atol=ATOL)
    end = found[np.flatnonzero(np.isfinite(found).all(axis=1))]
    assert np.abs(end[-1] - model.gravity(q[-1])).max() < 1.0


def test_a_stop_changes_the_torque_by_the_rate_until_zero(built):
    arm, library = built
    count, begin = 200, 100
    settings = Settings(target='mujoco')
    q, still = np.tile(arm.home, (count, 1)), np.zeros((count, arm.n))
    what = np.zeros(count)
    what[begin] = STOP_TO_ZERO
    times = 1e-3 * np.arange(count)
    found, fault = run(library, settings, what, times, q, still, q, still, still)
    assert fault is None
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    steps, last = [], found[begin - 1]
    while last.any():
        last = limiter.limit(np.zeros(arm.n), last, 1e-3)
        steps.append(last)
    assert 10 < len(steps) < count - begin
    np.testing.assert_array_equal(found[begin : begin + len(steps)], steps)
    # Then the controller is silent for a cycle, and begins again.
    assert np.isnan(found[begin + len(steps)]).all()


def test_a_reference_fades_in_and_an_arm_far_from_it_stops_for_good(built):
    arm, library = built
    count = 400
    settings = Settings(target='mujoco', kp=(30.0,), kd=(3.0,))
    q, still = np.tile(arm.home, (count, 1)), np.zeros((count, arm.n))
    times = 1e-3 * np.arange(count)
    what = WITH_REFERENCE * (times >= 0.1)
    for distance in (0.19, 0.21):  # the bound is 0.2 rad
        reference = q + distance * (times < 0.3)[:, None]  # the fault outlasts the distance
        found, fault = run(library, settings, what, times, q, still, reference, still, still)
        assert (fault is None) == (distance < 0.2)
        # 30 N m/rad fade in over 0.2 s.
        assert fault or np.abs(np.diff(found[:300], axis=0)).max() < 0.1
    given = np.isfinite(found).all(axis=1)
    assert given[:100].all() and not given[100:].any()


def test_a_set_point_with_velocity_that_ceases_makes_no_step(built):
    arm, library = built
    count, settings = 400, Settings(target='mujoco', kp=(30.0,), kd=(3.0,))
    still, times = np.zeros((count, arm.n)), 1e-3 * np.arange(count)
    velocity = np.full_like(still, 0.5)
    q = arm.home + velocity * np.minimum(times, 0.3)[:, None]
    what = WITH_REFERENCE * (times < 0.3)
    # The arm moves on for a moment; 3 N m s/rad of 0.5 rad/s fade out over 0.2 s.
    found, fault = run(library, settings, what, times, q, velocity, q, velocity, still)
    assert fault is None
    assert np.abs(np.diff(found[200:], axis=0)).max() < 0.1


@pytest.mark.parametrize(
    ('rpy', 'target', 'gravity', 'refused'),
    [
        ((0.5, 0.0, 0.0), 'fci', (0.0, 0.0, -9.81), True),
        ((0.5, 0.0, 0.0), 'mujoco', (0.0, 0.0, -9.81), False),
        ((0.5, 0.0, 0.0), 'mujoco', INCLINED, True),
        ((0.0, 0.0, 0.5), 'fci', (0.0, 0.0, -9.81), False),
        ((0.0, 0.0, 0.5), 'fci', INCLINED, True),
    ],
)
def test_an_arm_file_with_a_rotated_base_is_refused_as_by_the_node(
    rotated_core, rpy, target, gravity, refused
):
    arm, library = rotated_core(rpy)
    settings = Settings(target=target, gravity_vector=gravity)
    answer = library.refusal(packed(settings))
    assert (answer is not None and b'rotates the base' in answer) == refused
    with pytest.raises(SettingsError) if refused else nullcontext():
        settings.validate(arm)


def test_two_packages_do_not_overwrite_each_others_plugins():
    # A merged workspace installs all libraries into one folder.
    def libraries(name):
        files = cpp_package(load('fr3'), name)
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
        ('scemi', 'scemi', 'joint1 has no torque limit'),
    ],
)
def test_a_package_that_cannot_be_built_is_refused(arm, name, named):
    with pytest.raises(DescriptionError, match=named):
        cpp_package(load(arm), name)
