# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ core, compiled by g++, against the Python node's control path and Pinocchio."""

from contextlib import nullcontext
from dataclasses import replace
import functools
from itertools import pairwise, product
import math
import os
from pathlib import Path
import random
import subprocess

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import franka_dynamics as fd
from franka_dynamics.arm import MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.control.settings import Settings as Settings
from franka_dynamics.control.terms import FrictionFeedforward, TermModel
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.errors import DescriptionError, FrictionError, SettingsError
from franka_dynamics.parameter_schema import specs_in_files
from franka_dynamics.simulation.receiver import (
    COMMAND_TIMEOUT_S,
    ReceiverState,
    TorqueReceiver,
)
from franka_dynamics.urdf.writer import urdf_text

from . import cpp_core
from .cpp_core import (
    ATOL,
    compiled,
    compiled_program,
    Core,
    Feedforward,
    Inbox,
    PACKAGE,
    PAYLOAD,
    read,
    Receiver,
)
from .. import scripts
from ..agreement import refuses
from ..arms import limited, of_points, random_arm, random_covariance
from ..urdf.urdf_texts import edited, random_chain

pytestmark = cpp_core.needs_compiler
# Largest allowed values of the settings; the C++ package has its own.
RANGES = {spec.name: spec.bounds for name in ('torque', 'motion') for spec in specs_in_files(name)}
INCLINED = (2.0, -3.0, -9.12)


def identified(name, model, *, loaded=False, falling=False):
    """Return an arm with a random friction, as identified ones, perhaps of load and speed."""
    rng = np.random.default_rng(7)
    rows = rng.uniform(0.1, 0.6, (3 if model is ViscousCoulombFriction else 5, 7))
    covariance = random_covariance(rng, 7, len(rows) + loaded + falling, 0.05)
    more = {'load_dependent': rng.uniform(0.0, 0.3, 7)} if loaded else {}
    if falling:
        more['stribeck'] = rng.uniform(-0.1, 0.4, 7)
        more['stribeck_speed'] = 0.2
    more['receiver_offset'] = rng.uniform(-0.9, 0.9, 7)
    if model is ViscousCoulombFriction:
        friction = model(*rows, covariance=covariance, **more)
    else:
        friction = model(*rows[:3], rows[3:], (0.004, 0.3), covariance=covariance, **more)
    return replace(fd.load(name), friction=friction)


ARMS = {
    'fer': fd.load('fer'),  # sigmoids
    'fr3': identified('fr3', MaxwellSlipFriction),
    'fr3v2': identified('fr3v2', ViscousCoulombFriction),
    'loaded': identified('fr3v2_1', MaxwellSlipFriction, loaded=True),
    'falling': identified('fr3v2', MaxwellSlipFriction, falling=True),
    'loaded_falling': identified('fr3', MaxwellSlipFriction, loaded=True, falling=True),
    'loaded_coulomb': identified('fr3', ViscousCoulombFriction, loaded=True),
    'bare': fd.load('fr3'),  # no friction
}


def based(rpy):
    """Return an FR3 whose file turns the base."""
    base = np.eye(4)
    base[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    return replace(fd.load('fr3'), base=base)


def endless(arm):
    """Return an arm whose last joint has no limits of position."""
    *joints, last = arm.joints
    limits = replace(last.limits, lower=-np.inf, upper=np.inf)
    return replace(arm, joints=(*joints, replace(last, limits=limits)))


def drawn(seed, kinds):
    return limited(fd.import_urdf(random_chain(np.random.default_rng(seed), kinds)), effort=300.0)


UPRIGHT = "joint[@name='fr3_link0_joint']/origin"
WALL = edited(urdf_text(fd.load('fr3')), UPRIGHT, rpy='1.5708 0.2 0.3')
OTHERS = {
    'inclined': based((0.5, 0.0, 0.0)),
    'turned': endless(based((0.0, 0.0, 0.5))),
    'wall': fd.import_urdf(WALL),
    'drawn': drawn(2, ['revolute'] * 3 + ['prismatic'] * 2),
    'six': drawn(3, ['revolute'] * 6),
    'fr3v2_1': fd.load('fr3v2_1'),
    'hand': fd.load('fr3', hand='franka_hand'),
    **{
        name: limited(fd.load(name), effort=60.0, velocity=2.0, acceleration=10.0)
        for name in ('rpr', 'scemi', 'stanford')
    },
}


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp('cpp'))


@pytest.fixture(scope='module')
def core(library, tmp_path_factory):
    """Return a function that gives the core with an arm."""
    folder = tmp_path_factory.mktemp('arms')
    return functools.cache(lambda name: Core(library, {**ARMS, **OTHERS}[name], folder))


@pytest.fixture(params=ARMS)
def built(request, core):
    return ARMS[request.param], core(request.param)


@pytest.mark.parametrize('script', ['cpp_constants.py', 'cpp_core_table.py'])
def test_generated_headers_are_those_of_the_python_controller(script):
    with scripts.loaded(PACKAGE.parent / 'docs' / script) as module:
        for path, text in module.headers().items():
            assert path.read_text('utf-8') == text, 'make generated writes it'


@pytest.mark.parametrize('seed', range(12))
def test_drawn_arms_have_the_terms_of_pinocchio(library, tmp_path, seed):
    arm = limited(random_arm(np.random.default_rng(seed), joints=seed + 1), effort=100.0)
    core = Core(library, arm, tmp_path)
    states = fd.sample_states(arm, 20, seed=seed)
    found, mass = core.terms(Settings(target='mujoco'), *states)
    model = fd.Model(arm)
    matrices = model.mass_matrix(states.q)
    expected = [model.gravity(states.q), model.coriolis(*states[:2])]
    expected.append((matrices @ states.ddq[..., None])[..., 0])
    scale = max(100.0, *(np.abs(one).max() for one in expected))  # [N m]
    for one, other in zip((found[0], *found[2:]), expected):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=ATOL * scale / 100.0)
    np.testing.assert_allclose(mass, matrices, rtol=0.0, atol=ATOL * np.abs(mass).max())


SETTINGS = {
    'fci': Settings(),
    'fci_inclined_unknown_payload': Settings(
        gravity_vector=INCLINED,
        mount_tilt_compensated_by='node',
        payload=PAYLOAD,
        payload_known_to_robot=False,
    ),
    'fci_known_payload': Settings(payload=PAYLOAD),
    'fci_unknown_payload': Settings(payload=PAYLOAD, payload_known_to_robot=False),
    'mujoco_payload': Settings(target='mujoco', payload=PAYLOAD, gravity_vector=INCLINED),
}

LOADED = fd.load('fr3').with_payload(Settings(payload=PAYLOAD).payload_inertia())
BESIDE_A_LOAD = [
    Settings(payload=(more, 0.0, 0.0, 0.25 * more), payload_known_to_robot=known)
    for more, known in product((0.0, 0.4), (True, False))
]


@pytest.mark.parametrize(
    ('arm', 'settings'),
    [*product(ARMS.values(), SETTINGS.values()), *product((LOADED,), BESIDE_A_LOAD)],
)
def test_the_compiled_controller_has_the_terms_of_the_node(library, tmp_path, arm, settings):
    core = Core(library, arm, tmp_path)
    states = fd.sample_states(arm, 200, seed=3)
    found, _ = core.terms(settings, *states)
    model = TermModel(arm, settings)
    for row, (q, dq, ddq) in zip(np.moveaxis(found, 1, 0), zip(*states)):
        gravity = model.gravity(q)
        left = model.gravity_to_command(q, gravity)
        expected = [gravity, left, model.coriolis(q, dq), model.inertia_torque(q, ddq)]
        np.testing.assert_allclose(row, expected, rtol=0.0, atol=ATOL)
    # A load of the arm is commanded where the robot does not know it.
    assert arm is not LOADED or np.any(found[1]) != settings.payload_known_to_robot


def test_an_infinite_position_without_limits_ends_torques(core):
    settings = Settings(target='mujoco')
    still = np.zeros(7)
    q = OTHERS['turned'].home_position
    controller = Feedforward(core('turned'), settings)
    for _ in range(30):
        controller.cycle(q, still)
    assert controller.cycle(q, still)[1] == 'running'
    for _ in range(50):
        torque, state = controller.cycle(np.where(np.arange(7) == 6, np.inf, q), still)
    assert state == 'silent' and 'is inf' in controller.why
    held = TermModel(OTHERS['turned'], settings).gravity(q)
    np.testing.assert_allclose(torque, held, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_without_the_guard_torques_begin_at_the_first_state_and_are_not_judged(core, target):
    settings = Settings(target=target)
    still = np.zeros(7)
    q = np.array(ARMS['bare'].home)
    controller = Feedforward(core('bare'), settings, guard=False)
    assert controller.cycle(q, still)[1] == 'running'
    for _ in range(50):
        q = q + 0.02  # a leap each, with velocities that contradict it
        assert controller.cycle(q, still)[1] == 'running'
    assert controller.cycle(np.nan * q, still)[1] != 'running'


MUJOCO = {'target': 'mujoco'}
TURN = {'gravity_vector': INCLINED}
ROBOT, NODE = ({'mount_tilt_compensated_by': who} for who in ('robot', 'node'))
DOWN_IN_BASE = {'gravity_vector': tuple(OTHERS['inclined'].base[:3, :3].T @ (0.0, 0.0, -9.81))}


@pytest.mark.parametrize(
    ('arm', 'change', 'named'),
    [
        *(
            ('fr3', change, named)
            for change, named in (
                ({'scale': RANGES['scale'][1]}, None),
                ({'scale': RANGES['scale'][1] + 1e-9}, 'scale'),
                ({'scale': math.nan}, 'scale'),
                ({'kp': (-1.0,)}, 'kp and kd of fr3_joint1'),
                ({'kd': (0.0,) * 6 + (1000.0,)}, 'kp and kd of fr3_joint7'),
                ({'gravity_vector': (0.0, 0.0, -1.6)}, 'gravity_vector'),
                ({'gravity_vector': (0.0, 0.0, -31.0), **MUJOCO}, 'gravity_vector'),
                ({'payload': (-1.0, *[0.0] * 9)}, 'payload'),
                ({'payload': (0.0, 0.1, *[0.0] * 8)}, 'payload'),
                ({'payload': (1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1)}, 'no real body'),
                ({'payload': (math.nan, *[0.0] * 9)}, 'payload'),
                ({'payload': (5.0, *[0.0] * 9)}, 'rated load of fr3, 3 kg'),
                ({'payload': (1.0, 60.0, *[0.0] * 8)}, 'millimetres'),
                ({'payload': PAYLOAD}, None),
                ({'terms': fd.Terms(friction=True)}, None),
                (ROBOT, None),
                (TURN, 'mount_tilt_compensated_by'),
                ({**TURN, **ROBOT}, None),
                ({'gravity_vector': (9.81, 0.0, 0.0)}, 'mount_tilt_compensated_by'),
                ({'gravity_vector': (0.0, 0.0, 9.81)}, 'mount_tilt_compensated_by'),
                ({'gravity_vector': (0.01, 0.0, -9.81)}, 'mount_tilt_compensated_by'),
                ({'gravity_vector': (0.0, 0.0, -9.8067)}, None),
                ({'gravity_vector': (9.81, 0.0, 0.0), **MUJOCO}, None),
                ({**MUJOCO, **NODE}, 'mount_tilt_compensated_by'),
            )
        ),
        ('bare', {'terms': fd.Terms(friction=True)}, 'no friction model'),
        ('fer', {'terms': fd.Terms(offset=True)}, 'no friction model with an offset'),
        ('fr3', {'terms': fd.Terms(offset=True)}, None),
        ('hand', {'payload': (2.5, *[0.0] * 9)}, 'rated load'),
        ('inclined', {}, 'mount_tilt_compensated_by'),
        ('inclined', ROBOT, None),
        ('inclined', MUJOCO, None),
        ('inclined', {**MUJOCO, **DOWN_IN_BASE}, None),
        ('inclined', {**MUJOCO, **TURN}, 'gravity_vector'),
        ('inclined', DOWN_IN_BASE, 'mount_tilt_compensated_by'),
        ('inclined', {**DOWN_IN_BASE, **NODE}, None),
        ('turned', TURN, 'mount_tilt_compensated_by'),
        ('turned', {**TURN, **NODE}, None),
        ('wall', {}, 'mount_tilt_compensated_by'),
        ('wall', NODE, None),
        ('wall', {**MUJOCO, **TURN}, 'gravity_vector'),
    ],
)
def test_impossible_settings_are_refused_by_name_as_in_the_node(core, arm, change, named):
    settings = Settings(**change)
    answer = core(arm).refusal(settings)
    assert answer is None if named is None else named in answer
    with pytest.raises(SettingsError) if named else nullcontext():
        settings.validate({**ARMS, **OTHERS}[arm])


@pytest.mark.parametrize('change', [MUJOCO, ROBOT, NODE])
def test_gravity_of_a_tilted_mount_is_that_of_the_urdf(core, change):
    states = fd.sample_states(OTHERS['wall'], 20, seed=3)
    settings = Settings(**change)
    found, _ = core('wall').terms(settings, *states)
    model = pin.buildModelFromXML(WALL)
    data = model.createData()
    expected = [pin.computeGeneralizedGravity(model, data, q).copy() for q in states.q]
    np.testing.assert_allclose(found[0], expected, rtol=0.0, atol=ATOL)
    terms = TermModel(OTHERS['wall'], settings)
    left = [terms.gravity_to_command(q, g) for q, g in zip(states.q, np.array(expected))]
    np.testing.assert_allclose(found[1], left, rtol=0.0, atol=ATOL)


FILE = controller_arm_text(ARMS['fr3'])


@pytest.mark.parametrize(
    ('text', 'named'),
    [
        ('', 'has no name'),
        (FILE.replace('rated_load: ', 'rated: '), 'has no rated_load'),
        (FILE + 'colour: [1.0]\n', 'colour'),
        (FILE + 'name: again\n', 'name twice'),
        (
            FILE.replace('rated_load: 3.0', 'rated_load: 3,0'),
            'rated_load has 2 numbers',
        ),
        (FILE.replace('rated_load: 3.0', 'rated_load: nan'), 'rated_load has nan'),
        (FILE.replace('rated_load: 3.0', 'rated_load: three'), 'rated_load has three'),
        (FILE.replace('[fr3_joint1, ', '['), 'links has 168 numbers instead of 144'),
        (
            FILE.replace(', 87.0, 1000.0', ', .inf, 1000.0', 1),
            'fr3_joint1 of fr3 has no torque',
        ),
        (
            FILE.replace('-2.9007, 2.9007', '2.9007, -2.9007', 1),
            'fr3_joint1 of fr3 has limits',
        ),
        (FILE.replace('friction_elements: 2', 'friction_elements: 9'), 'friction'),
        (FILE.replace('friction_elements: 2', 'friction_elements: 1.5'), 'friction'),
        (
            FILE.replace('[0.0, 1.0, 0.0', '[0.0, 1.1, 0.0', 1),
            'fr3_joint1 of fr3 has a placement',
        ),
        (
            FILE.replace('2.9274653454', '-2.9274653454', 1),
            'fr3_joint1 of fr3 moves a link',
        ),
        (
            FILE.replace('0.029251667870215825', '0.9', 1),
            'fr3_joint1 of fr3 moves a link',
        ),
        (FILE.replace('friction: linear', 'friction: grease'), 'friction'),
        (f'{FILE}friction_grows_with_load: 2\n', 'friction'),
        (
            f'{FILE}friction_grows_with_load: 1\n',
            'friction_coefficients has 35 numbers instead of 42',
        ),
        (
            f'{FILE.partition("friction_receiver_offset")[0]}friction_receiver_offset: 1\n',
            'offset',
        ),
        (
            FILE.replace('friction_width: 0.01', 'friction_width: .inf'),
            'friction_width has .inf',
        ),
        (FILE.replace('friction_reach:\n  - [', 'friction_reach:\n  - [-'), 'friction'),
        (
            FILE.replace('friction_covariance:\n  - [', 'friction_covariance:\n  - [-'),
            'friction',
        ),
        (FILE.replace('0.0, 0.0, 0.333,', '0.0, 0.0, 1e300,', 1), 'links has 1e300'),
        (FILE.replace('payload:\n  - [0.0', 'payload:\n  - [-1.0'), 'payload'),
        (FILE.replace('rated_load: 3.0', 'rated_load: -3.0'), 'rated load'),
        (
            FILE.replace('fr3_joint2', 'fr3_joint1', 1),
            'fr3_joint1 of fr3 is there twice',
        ),
        (
            FILE.replace('1000.0, 0.0]', '1000.0, 9.0]', 1),
            'fr3_joint1 of fr3 has a home',
        ),
        (FILE.replace('name: fr3', 'name: fr3 left'), 'name has more than one word'),
        (
            FILE.replace('rated_load: 3.0', 'rated_load: ' + 5000 * '9'),
            'rated_load has 999',
        ),
    ],
)
def test_a_file_that_is_no_arm_is_refused_by_what_is_wrong(library, tmp_path, text, named):
    path = tmp_path / 'arm.yaml'
    with refuses(ValueError, str(path), 'cannot be opened'):
        read(library, path)
    path.write_text(text)
    with refuses(ValueError, str(path), named, 'arm export --format controller'):
        read(library, path)


def test_words_of_a_file_may_be_quoted(library, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(FILE.replace('name: fr3', 'name: "fr3"').replace('fr3_joint2', "'fr3_joint2'"))
    read(library, path)


def test_links_that_are_points_or_rods_or_nothing_are_taken(library, tmp_path):
    arm = limited(random_arm(np.random.default_rng(0), joints=4), effort=100.0)
    links = (
        of_points(np.array([1.0]), np.array([[0.1, -0.2, 0.3]])),
        of_points(np.array([0.3, 0.7]), np.array([[0.1, -0.2, 0.3], [1.0, 0.2, 0.5]])),
        fd.LinkInertia.zero(),
        of_points(np.array([1e-3]), np.zeros((1, 3))),
    )
    arm = replace(arm, links=links)
    states = fd.sample_states(arm, 5, seed=0)
    found, _ = Core(library, arm, tmp_path).terms(Settings(target='mujoco'), *states)
    np.testing.assert_allclose(found[0], fd.Model(arm).gravity(states.q), rtol=0.0, atol=ATOL)


def fr3_with_first_joint(**fields):
    arm = fd.load('fr3')
    return replace(arm, joints=(replace(arm.joints[0], **fields), *arm.joints[1:]))


@pytest.mark.parametrize(
    ('arm', 'named'),
    [
        (fd.load('scemi'), 'joint1 has no torque limit'),
        (
            limited(random_arm(np.random.default_rng(0), joints=13), effort=1.0),
            '13 joints',
        ),
        (
            replace(
                limited(random_arm(np.random.default_rng(0), joints=1), effort=1.0),
                joints=(replace(OTHERS['rpr'].joints[0], name='one, two'),),
            ),
            "'one, two'",
        ),
        (fr3_with_first_joint(name="o'ne"), "o'ne"),
        (fr3_with_first_joint(name='-'), "'-'"),
        (fr3_with_first_joint(rotor_inertia=2e6), 'fr3_joint1 has a rotor_inertia of 2e+06'),
        (replace(fd.load('fr3'), carried_mass=3.5), '3.5 kg'),
        (
            replace(
                fd.load('fr3'),
                friction=MaxwellSlipFriction(
                    viscous=np.ones(7),
                    coulomb=np.ones(7),
                    offset=np.zeros(7),
                    slip=np.ones((9, 7)),
                    reach=np.arange(1.0, 10.0),
                ),
            ),
            '9 Maxwell-slip elements',
        ),
    ],
)
def test_an_arm_that_the_controller_cannot_take_is_not_exported(arm, named):
    with refuses((DescriptionError, FrictionError), named):
        controller_arm_text(arm)


def test_a_rated_load_of_zero_is_not_written_as_unlimited():
    arm = replace(fd.load('fr3'), rated_load=0.0)
    assert 'rated_load: 0.0' in controller_arm_text(arm)


def test_an_arms_name_with_a_quotation_mark_can_be_read(library, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(controller_arm_text(replace(fd.load('fr3'), name="o'brien")))
    read(library, path)


@pytest.mark.parametrize('name', [name for name, arm in ARMS.items() if arm.friction])
def test_friction_is_the_nodes_and_forgets_an_unseen_motion(core, name):
    arm = ARMS[name]
    rng = np.random.default_rng(5)
    count = 1000
    # Random-walk positions, and velocities of which some count as rest.
    q = 0.004 * rng.uniform(0.1, 5.0, arm.n) * rng.normal(size=(count, arm.n)).cumsum(axis=0)
    dq = rng.choice([0.003, 0.03, 1.0], (count, 1)) * rng.normal(size=(count, arm.n))
    # Gaps just below and above the longest allowed one, and steps back in time.
    steps = rng.choice([1e-3, 0.049, 0.051, -1e-3, 0.0], count, p=[0.96, 0.01, 0.01, 0.01, 0.01])
    times = steps.cumsum()
    measured = dq + rng.normal(0.0, 0.05, dq.shape)
    load = rng.normal(0.0, 20.0, dq.shape)
    model = FrictionFeedforward(arm.friction)
    expected = []
    for stamp, position, *states in zip(times.tolist(), q, dq, measured, load):
        model.update(stamp, position)
        expected.append(model.torque(*states))
    friction = core(name).friction
    found = friction(times, q, dq, measured, load)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
    if isinstance(arm.friction, MaxwellSlipFriction):
        never = friction(1e-3 * np.arange(count), q, dq, measured, load)
        assert np.abs(never - found).max() > 0.1  # the gaps matter
    light = friction(times, q, dq, measured, 0.0 * load)
    assert (np.abs(light - found).max() > 0.1) == name.startswith('loaded')


def test_a_set_point_with_velocity_that_ceases_makes_no_step(built):
    arm, core = built
    settings = Settings(target='mujoco', kp=(30.0,), kd=(3.0,))
    controller = Feedforward(core, settings, guard=False)
    velocity = np.full(arm.n, 0.5)
    still = np.zeros(arm.n)
    q = np.array(arm.home)
    torques = []
    for k in range(600):
        given = None
        if k < 300:
            q = arm.home + 5e-4 * k * np.ones(arm.n)
            given = [q, velocity, still, still]
        # The arm moves on for a moment; 3 N m s/rad of 0.5 rad/s fade out over 0.2 s.
        torque, state = controller.cycle(q, velocity, given=given)
        assert state == 'running'
        torques.append(torque)
    assert np.abs(np.diff(torques[200:], axis=0)).max() < 0.1
    # Then only the position is wanted.
    damped = fd.NewtonEulerModel(arm).nonlinear_effects(q, velocity) - 3.0 * velocity
    np.testing.assert_allclose(torque, damped, rtol=0.0, atol=ATOL)


def test_a_part_of_the_friction_leaves_the_other_terms_whole(core):
    arm = ARMS['fr3']
    dq = np.linspace(-0.5, 0.6, arm.n)
    ddq = np.linspace(1.0, -1.0, arm.n)
    own = np.zeros(arm.n)
    torques = {}
    for share in (0.0, 0.3, 1.0):
        terms = fd.Terms(friction=True)
        settings = Settings(target='fci', terms=terms, friction_scale=share)
        controller = Feedforward(core('fr3'), settings, 'law', guard=False)
        for k in range(300):
            q = arm.home + 1e-3 * k * dq
            torques[share] = controller.cycle(q, dq, given=[q, dq, ddq, own])[0]
    friction = torques[1.0] - torques[0.0]
    assert np.abs(friction).min() > 0.01
    np.testing.assert_allclose(torques[0.3] - torques[0.0], 0.3 * friction, rtol=0.0, atol=ATOL)
    model = fd.Model(arm)
    terms = model.coriolis(q, dq) + model.mass_matrix(q) @ ddq
    np.testing.assert_allclose(torques[0.0], terms, rtol=0.0, atol=ATOL)


def test_kp_grows_at_no_joint_that_is_far_from_its_motion(core):
    arm = ARMS['bare']
    controller = Feedforward(core('bare'), Settings(target='mujoco', kp=(30.0,)), guard=False)
    still = np.zeros(arm.n)
    q = np.array(arm.home)
    far = q + 0.2 * np.eye(arm.n)[3]

    def run(given):
        for _ in range(30):
            _, state = controller.cycle(q, still, given=given)
        assert state == 'running'

    run([far, still, still, still])
    said = controller.change(kp=(60.0,))
    assert 'kp of fr3_joint4 cannot grow' in said and '0.1 rad' in said
    assert controller.change(kp=(60.0, 60.0, 60.0, 20.0, 60.0, 60.0, 60.0)) is None
    run([q, still, still, still])  # now near
    assert controller.change(kp=(60.0,)) is None


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_the_offset_beside_a_law_is_the_same_at_every_speed(core, target):
    arm = ARMS['fr3']
    friction = arm.friction
    expected = friction.receiver_offset if target == 'fci' else friction.offset
    own = np.zeros(arm.n)
    for speed in (0.0, 0.003, 0.01, 0.02, 0.05):
        dq = np.full(arm.n, speed)
        torques = []
        for has_offset in (False, True):
            settings = Settings(target=target, terms=fd.Terms(offset=has_offset), scale=0.0)
            controller = Feedforward(core('fr3'), settings, 'law', guard=False)
            cycles = []
            for k in range(400):
                q = arm.home + 1e-3 * k * dq
                cycles.append(controller.cycle(q, dq, given=[q, dq, own, own])[0])
            torques.append(cycles)
        found = np.subtract(torques[1], torques[0])
        np.testing.assert_allclose(found[-1], expected, rtol=0.0, atol=ATOL)
        assert np.abs(np.diff(found, axis=0)).max() < 0.006  # by the ramp of 0.2 s


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


def test_total_torques_are_followed_without_a_term(core):
    dq = np.full(BARE.n, 0.3)
    given = np.linspace(-5.0, 5.0, BARE.n)
    receiver = Receiver(core('bare'), Settings(target='mujoco'))
    torques, states = cycles(receiver, 300, torque=given, dq=dq)
    assert set(states) == {'following'}
    model = fd.NewtonEulerModel(BARE)
    np.testing.assert_allclose(torques[-1], given, rtol=0.0, atol=ATOL)
    # The torque goes from the arm's gravity torque to the commanded one, within the rate limit.
    assert np.abs(torques[0] - model.gravity(BARE.home)).max() <= STEP + ATOL
    assert np.abs(np.diff(torques, axis=0)).max() <= STEP + ATOL


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_a_receiver_does_as_the_one_in_python(core, target):
    arm = BARE
    settings = Settings(target=target, payload=PAYLOAD)
    holding = TermModel(arm, settings).gravity(arm.home_position) * (target == 'mujoco')
    python = TorqueReceiver(arm, settings, COMMAND_TIMEOUT_S, holding=holding)
    receiver = Receiver(core('bare'), settings, COMMAND_TIMEOUT_S)
    states = []
    for k, (messages, q, dq) in enumerate(receiver_script(arm, holding)):
        for sender, number, values in messages:
            refusal = python.accept(values, number)
            assert receiver.receive(values, sender) == (refusal.value if refusal else 'heard')
        expected = python.step(k * 1e-3, q, dq)
        torque, state = receiver.cycle(q, dq, k * 1e-3 - max(0, k - 1) * 1e-3)
        assert state == python.state.status_word, k
        np.testing.assert_allclose(torque, expected, rtol=0.0, atol=1e-9)
        states.append(state)
    assert set(states) == {state.status_word for state in ReceiverState} - {'waiting'} - (
        {'stopped'} if target == 'mujoco' else {'holding'}
    )
    # A braked arm that gets faster, and one at a position beyond its limits.
    assert list(pairwise(states)).count(('braking', 'fault')) >= 2


def receiver_script(arm, holding):
    """
    Yield messages (sender, number, torque), and a joint state, of each cycle.

    Senders cease, are two, or wrong. States are not finite while the arm is braked, then it is
    driven. From cycle 740 on a sender comes after each fault and ceases; the faults are an
    impossible velocity while the arm is braked, an impossible position and a fast arm while it is
    held.
    """
    effort = arm.limit('effort')
    amplitude = 0.05 * np.resize((1.0, -0.7, 0.5), arm.n)
    speed = np.sign(amplitude) * np.minimum(0.3, 0.3 * arm.limit('velocity'))
    most = 2.2 * np.minimum(10.0, arm.limit('velocity')) * np.sign(amplitude)
    numbers = {1: 0, 2: 1_000_000}
    q = arm.home_position
    after_faults = (*range(5), *range(95, 100), *range(190, 195))
    for k in range(1050):
        if k < 100:
            dq = 0.0 * speed
        elif k < 420:  # braked, slower than the brake would do it
            dq = speed * math.exp(-max(0.0, k - 150) / 40.0)
        elif k < 740:  # driven
            dq = 0.2 * speed * math.exp((k - 420) / 60.0)
        else:
            dq = most * (1015 <= k < 1040)
        q = q + 1e-3 * dq
        wave = np.clip(holding + 0.05 * effort * math.sin(0.05 * k), -effort, effort)
        sent = []
        if k < 120 or 400 <= k < 440 or (k - 740) in after_faults:
            sent.append((1 if k < 120 else 2, wave))
        if k in (20, 140, 410):
            sent.append((1 if k == 410 else 2, wave))
        if k in (30, 130):
            sent.append((1, wave[:-1]))
            sent.append((1, np.where(np.arange(arm.n) == 1, math.inf, wave)))
            sent.append((1, np.where(np.arange(arm.n) == 0, 1.001 * effort, wave)))
        messages = []
        for sender, values in sent:
            numbers[sender] += 1
            messages.append((sender, numbers[sender], values))
        measured = q * math.nan if 340 <= k < 370 else q.copy()
        moving = dq.copy()
        if 805 <= k < 808:
            moving[0] = 2e3
        if 920 <= k < 923:
            measured[-1] = arm.limit('upper')[-1] + 0.3
        yield messages, measured, moving


@pytest.mark.parametrize('command', ['torque', 'total_torque'])
def test_friction_beside_torques_without_a_velocity_is_refused(core, command):
    friction = Settings(target='mujoco', terms=fd.Terms(friction=True))
    refused = core('fr3').refusal(friction, command)
    assert 'friction' in refused and 'law' in refused and 'motion' in refused
    for one in ('motion', 'law'):
        assert core('fr3').refusal(friction, one) is None
    assert core('fr3').refusal(Settings(target='mujoco'), command) is None
    # A scale of terms that are not added has no effect either.
    scaled = core('fr3').refusal(Settings(target='mujoco', scale=0.5), command)
    assert (scaled is None) == (command == 'torque')


@pytest.mark.parametrize('command', ['torque', 'total_torque', 'law'])
def test_gains_beside_torques_are_refused(core, command):
    assert 'kp and kd' in core('fr3').refusal(Settings(kp=(10.0,), kd=(1.0,)), command)


def test_a_restart_forgets_the_last_torque_and_its_publisher(core):
    receiver = Receiver(core('bare'), Settings())
    cycles(receiver, 10, torque=np.full(BARE.n, 2.0), publisher=1)
    assert receiver.receive(np.full(BARE.n, 3.0), 1) == 'heard'
    receiver.restart()
    torque, state = receiver.cycle(BARE.home, STILL)
    assert np.isnan(torque).all() and state == 'waiting'
    assert receiver.receive(np.full(BARE.n, -2.0), 2) == 'heard'


UPPER, VELOCITY, ACCELERATION = (BARE.limit(x)[0] for x in ('upper', 'velocity', 'acceleration'))


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
        ('law', 0, EFFORT[0], 'heard'),
        ('law', 0, EFFORT[0] + 1e-9, 'out of bounds'),
        ('law', BARE.n, 10.1 * VELOCITY, 'out of bounds'),
        ('law', 2 * BARE.n, -10.1 * ACCELERATION, 'out of bounds'),
        ('law', 3 * BARE.n - 1, math.nan, 'not finite'),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(core, command, index, value, answer):
    receiver = Inbox(core('bare'), command)
    first = BARE.home if command == 'motion' else STILL
    values = np.tile(STILL, 1 if command == 'total_torque' else 3)
    values[: BARE.n] = first
    values[index] = value
    assert receiver.receive(values) == answer and receiver.receive(values[:-1]) == 'wrong size'
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
CYCLES = 100 * int(FUZZ or 100)
SEED = random.randrange(2**32) if FUZZ else 0


def output(program, *words):
    """Run a program that must not end by a sanitizer; return the numbers of its lines."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=580)
    assert done.returncode == 0 and not done.stderr, f'{words}: {done.stderr[:3000]}'
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


@pytest.fixture(scope='module')
def file_of_arm(tmp_path_factory):
    folder = tmp_path_factory.mktemp('files')

    def written(name):
        path = folder / f'{name}.yaml'
        path.write_text(controller_arm_text({**ARMS, **OTHERS}[name]))
        return path

    return written


def test_commands_stay_finite_within_limit_and_rate(tmp_path, file_of_arm):
    program = compiled_program(SOURCE, tmp_path, sanitizers='address,undefined')
    for arm in ['fr3', 'stanford', *(['fer', 'fr3v2', 'drawn'] if FUZZ else [])]:
        feedforward, receiver = output(program, SEED, CYCLES, file_of_arm(arm))
        for commands, *wrong in (feedforward, receiver):
            assert commands > CYCLES / 4, f'seed {SEED}'
            assert wrong == [0, 0, 0], f'not finite, too large, too fast: {wrong}, seed {SEED}'


def test_a_command_read_beside_its_writing_is_whole(tmp_path, file_of_arm):
    program = compiled_program(SOURCE, tmp_path, sanitizers='thread')
    ((read, mixed),) = output(program, 'threads', CYCLES, file_of_arm('fr3'))
    assert read > 0 and mixed == 0


def test_a_compiler_that_may_drop_the_checks_for_nan_is_refused(tmp_path, capfd):
    with pytest.raises(subprocess.CalledProcessError):
        compiled_program(SOURCE, tmp_path, options=('-ffast-math',))
    assert 'without -ffast-math' in capfd.readouterr().err
