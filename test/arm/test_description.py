# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of arms: rows, limits, units, friction, hands, payloads, and inertias of links."""

from dataclasses import replace
import json
import re

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import Convention, JointLimits, MaxwellSlipFriction, payload
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.arm.bodies import Box, Cylinder, FixedFrame
from franka_dynamics.arm.frames import to_modified_convention
from franka_dynamics.arm.friction import (
    friction_along,
    SigmoidFriction,
    slip_state_bounds,
)
from franka_dynamics.arm.friction_state import FrictionState
from franka_dynamics.arm.hand_change import with_hand
from franka_dynamics.arm.inertia import elements_from_tensor, repaired_link
from franka_dynamics.arm.repair import repaired_arm
from franka_dynamics.constants import REPAIR_TO_NEAREST
from franka_dynamics.errors import (
    DescriptionError,
    InertiaError,
    UnknownArmError,
    UrdfWarning,
)
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.generated_files import robot_file_text

from ..agreement import assert_near, refuses
from ..arms import of_points, random_arm, slip_states, with_joint, with_link


@pytest.mark.parametrize('distance', [0.15, 0.0, -0.2])
def test_fr3_velocity_bounds_are_frankas_formula(distance):
    arm = fd.load('fr3')
    off = np.array([0.6599, 0.2517, 0.2000, 0.3533, 0.5757, 0.4878, 0.4628])
    dec = np.array([6, 2.585, 3.5, 4, 17, 5.5, 17])
    braking = np.maximum(0.0, -off + np.sqrt(2.0 * dec * max(distance, 0.0)))
    expected = np.minimum(arm.limit('velocity'), braking)
    _, upper = arm.velocity_bounds(arm.limit('upper') - distance)
    lower, _ = arm.velocity_bounds(arm.limit('lower') + distance)
    np.testing.assert_allclose((upper, -lower), (expected, expected), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(
    ('mass', 'density', 'count'), [(4e3, 22500, 0), (4e3, 22700, 1), (900.0, 22700, 0)]
)
def test_a_heavy_ball_of_more_than_osmiums_density_is_named(mass, density, count):
    inertia = 0.4 * mass * ((mass / density / (4.0 / 3.0 * np.pi)) ** (1.0 / 3.0)) ** 2 * np.eye(3)
    ball = fd.LinkInertia.from_center_of_mass(mass, (0.1, 0.2, -0.3), inertia)
    rpr = fd.load('rpr')
    found = with_link(rpr, 1, ball).inconsistencies()
    assert len(found) == count
    assert all(rpr.joint_names[1] in one and 'denser' in one for one in found)


@pytest.mark.parametrize('name', ['fer', 'fr3', 'stanford'])
def test_arms_are_equal_by_value_and_hash_alike(name):
    arm = fd.load(name)
    again = fd.load(name)
    assert arm == again and hash(arm) == hash(again) and len({arm, again}) == 1
    other = with_link(arm, 0, arm.links[1])
    assert arm != other and arm != replace(arm, name='another') and arm != name
    friction = arm.friction
    if friction is not None:
        first = next(iter(vars(friction)))
        doubled = replace(friction, **{first: 2.0 * np.asarray(getattr(friction, first))})
        assert replace(arm, friction=doubled) != arm


ATOL = 1e-11  # relative to max(1, |tau|); a hundred times the largest error measured


@pytest.mark.parametrize('convention', Convention)
def test_joint_transforms_are_products_of_matrix_exponentials(convention):
    from ..dynamics import lagrangian  # by SciPy

    arm = random_arm(np.random.default_rng(0), joints=6, convention=convention)
    q = np.linspace(-1.0, 1.0, 6)
    expected = lagrangian.steps(arm, q)[0]
    np.testing.assert_allclose(arm.joint_transforms(q), expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize('seed', range(3))
def test_rows_made_modified_keep_torques_and_flange(seed):
    arm = random_arm(np.random.default_rng(seed), convention=Convention.STANDARD)
    frames = [FixedFrame(name=f'f{i}', joint=i, xyz=D[:3], rpy=D[3:6]) for i in range(arm.n + 1)]
    arm = replace(arm, flange=replace(arm.flange, a=0.0, alpha=0.0), fixed_frames=tuple(frames))
    other = to_modified_convention(arm)
    assert other.convention is Convention.MODIFIED
    states = fd.sample_states(arm, 10, seed)
    models = fd.NewtonEulerModel(other), fd.NewtonEulerModel(arm)
    assert_near(*(model.inverse_dynamics(*states) for model in models), ATOL)
    for frame in (None, *(one.name for one in frames)):
        poses, others = (model.frame_pose(states.q, frame) for model in models)
        np.testing.assert_allclose(others, poses, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize(('lower', 'upper'), [(5.0, np.inf), (-np.inf, -4.0), (-1.0, np.inf)])
def test_states_lie_within_a_limit_at_one_end(lower, upper):
    states = fd.sample_states(with_joint(fd.load('rpr'), 0, limits=JointLimits(lower, upper)), 500)
    drawn = states.q[:, 0]
    assert lower <= drawn.min() and drawn.max() <= upper
    assert 2.0 < np.ptp(drawn) < 10.0
    for unlimited, most in ((states.dq[:, 0], 2.0), (states.ddq[:, 0], 10.0)):
        assert 0.95 * most < np.abs(unlimited).max() <= most


def test_a_urdf_is_loaded_with_the_question(tmp_path):
    fd.write_urdf('fr3', tmp_path / 'arm.urdf')
    text = (tmp_path / 'arm.urdf').read_text()
    degrees = fd.load(text.replace('lower="-2.9007" upper="2.9007"', 'lower="-166" upper="166"'))
    assert 'fr3_joint1' in ' '.join(one for one in degrees.notes if 'degrees' in one)
    assert np.isneginf(degrees.limit('lower')[0]) and not degrees.torque_notes
    with pytest.warns(UrdfWarning, match="'fr3_joint4', <origin>: rpy.*degrees"):
        fd.load(re.sub(r'rpy="1.5707963\d*', 'rpy="90', text))
    with pytest.warns(UrdfWarning, match='millimetres'):
        fd.load(text.replace('xyz="0 0 0.333"', 'xyz="0 0 333"'))


# Parameters of the FER's friction by Gaz et al. 2019.
AMPLITUDE = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
SLOPE = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])
D = np.array([0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526])
ATOL_NM = 1e-14  # amplitudes are near 1 N m


def test_the_fers_friction_is_gazs_formula():
    dq = np.random.default_rng(0).uniform(-2.6, 2.6, (200, 7))
    expected = AMPLITUDE / (1 + np.exp(-SLOPE * (dq + D))) - AMPLITUDE / (1 + np.exp(-SLOPE * D))
    friction = fd.load('fer').friction
    for found in (friction.torque(dq), friction_along(friction, np.zeros_like(dq), dq)):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL_NM)


@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_sigmoid_friction_saturates_at_a_huge_velocity(sign):
    # The direct formula overflows in exp here, which pytest would turn into an error.
    expected = (AMPLITUDE if sign > 0 else 0.0) - (AMPLITUDE / (1 + np.exp(-SLOPE * D)))
    torque = SigmoidFriction(AMPLITUDE, SLOPE, D).torque(np.full(7, sign * 1e6))
    np.testing.assert_allclose(torque, expected, rtol=0.0, atol=ATOL_NM)


REACH = np.array([0.004, 0.3])
SLIP = {'slip': [[0.3, 0.15], [0.2, 0.1]], 'reach': REACH}
MODEL = MaxwellSlipFriction(viscous=[0.4, 0.1], coulomb=[0.5, 0.2], offset=[0.2, -0.1], **SLIP)

# Positions q = a sin(w t) + b sin(v t) of two joints that reverse at different times.
A, W, B, V = np.array([[0.4, 0.002], [1.3, 9.0], [0.003, -0.1], [40.0, 0.7]])


def positions(time):
    return A * np.sin(np.outer(time, W)) + B * np.sin(np.outer(time, V))


def test_work_of_a_closed_loop_is_the_hysteresis_area():
    # A spring of stiffness a/d that slips beyond its reach d loses 4 a (A - d) in a cycle between
    # -A and A: the area of a parallelogram.
    amplitude = 0.02
    slip = 0.3
    reach = 0.004
    cycle = amplitude * np.concatenate([np.linspace(-1, 1, 4000), np.linspace(1, -1, 4000)])
    q = np.concatenate([cycle, cycle])  # the second cycle is periodic
    z = slip_state_bounds(q[:, None], [reach])[0, :, 0, 0]
    work = slip * np.sum((0.5 * (z[1:] + z[:-1]) * np.diff(q))[8000:])
    assert work == pytest.approx(4.0 * slip * (amplitude - reach), rel=1e-6)


def test_a_motion_followed_in_steps_is_evaluated_as_at_once():
    time = np.arange(0.0, 2.0, 1e-3)
    q = positions(time)
    dq = np.gradient(q, time, axis=0)
    state = FrictionState(MODEL)
    followed = []
    for stamp, position, velocity in zip(time, q, dq):
        state.update(stamp, position)
        followed.append(state.torque(velocity))
    np.testing.assert_allclose(followed, friction_along(MODEL, q, dq), rtol=0.0, atol=1e-12)


def test_friction_coefficients_times_terms_are_the_torque():
    rng = np.random.default_rng(0)
    dq = rng.uniform(-1.0, 1.0, (5, 2))
    z = rng.uniform(-1.0, 1.0, (5, 2, 2))
    viscous, coulomb, offset = MODEL.coefficients[:3]
    turned = np.tanh(dq / MODEL.width)
    known = viscous * dq + coulomb * turned + offset
    expected = known + MODEL.slip[0] * z[:, 0] + MODEL.slip[1] * z[:, 1]
    np.testing.assert_allclose(MODEL.torque(dq, z), expected, rtol=0.0, atol=1e-14)
    sliding = known + MODEL.slip.sum(axis=0) * turned
    np.testing.assert_allclose(MODEL.torque(dq), sliding, rtol=0.0, atol=1e-14)


def test_friction_grows_with_the_load_and_without_it_is_the_same():
    rng = np.random.default_rng(1)
    dq = rng.uniform(-0.05, 0.05, (5, 2))
    z = rng.uniform(-1.0, 1.0, (5, 2, 2))
    tau = rng.normal(0.0, 30.0, (5, 2))
    share = np.array([0.2, 0.05])
    loaded = replace(MODEL, load_dependent=share)
    expected = MODEL.torque(dq, z) + share * np.tanh(dq / MODEL.width) * np.abs(tau)
    np.testing.assert_allclose(loaded.torque(dq, z, tau), expected, rtol=1e-14, atol=1e-14)
    # Bit for bit: the sums have no term more.
    np.testing.assert_array_equal(MODEL.torque(dq, z, tau), MODEL.torque(dq, z))
    assert MODEL.coefficients.shape == (5, 2) and loaded.coefficients.shape == (6, 2)


def test_friction_falls_with_speed_and_grows_with_the_load():
    rng = np.random.default_rng(2)
    dq = rng.uniform(-1.0, 1.0, (5, 2))
    z = rng.uniform(-1.0, 1.0, (5, 2, 2))
    tau = rng.normal(0.0, 30.0, (5, 2))
    falling = np.array([0.7, -0.3])
    share = np.array([0.2, 0.05])
    both = replace(MODEL, stribeck=falling, stribeck_speed=0.25, load_dependent=share)
    sign = np.tanh(dq / MODEL.width)
    more = sign * (falling / np.exp(np.abs(dq) / 0.25) + share * np.abs(tau))
    expected = MODEL.torque(dq, z) + more
    np.testing.assert_allclose(both.torque(dq, z, tau), expected, rtol=1e-13, atol=1e-14)
    assert both.coefficients.shape == (7, 2)


@pytest.mark.parametrize('begin', [-1.0, -0.3, 0.0, 1.0])
def test_bounds_from_an_unknown_start_hold_the_true_state(begin):
    time = np.arange(0.0, 3.0, 1e-3)
    q = positions(time)
    truth = slip_states(q, REACH, np.full((2, 2), begin))
    state = FrictionState(MODEL)
    for stamp, position, z in zip(time, q, truth):
        state.update(stamp, position)
        low, high = state.slip_state_bounds
        assert (low <= z + 1e-12).all() and (z <= high + 1e-12).all()
    # Joint 1 has moved by more than twice the larger reach in one direction.
    np.testing.assert_allclose(high[:, 0] - low[:, 0], 0.0, atol=1e-12)


@pytest.mark.parametrize('gap', [0.051, -0.01])
def test_a_gap_makes_the_state_unknown_again(gap):
    state = FrictionState(MODEL)
    for step in range(100):
        state.update(0.001 * step, np.full(2, 0.02 * step))
    np.testing.assert_array_equal(state.slip_state_bounds[0], state.slip_state_bounds[1])
    state.update(0.099 + gap, np.full(2, 0.5))
    np.testing.assert_array_equal(state.slip_state_bounds, [-np.ones((2, 2)), np.ones((2, 2))])


def test_positions_are_kept_when_the_caller_reuses_its_array():
    state = FrictionState(MODEL)
    buffer = np.empty(2)
    for step in range(100):
        buffer[:] = 0.02 * step
        state.update(0.001 * step, buffer)
    np.testing.assert_array_equal(state.slip_state, np.ones((2, 2)))


@pytest.mark.parametrize('position', [np.nan, np.inf])
def test_a_position_that_is_not_finite_resets_the_state(position):
    state = FrictionState(MODEL)
    for step in range(100):
        state.update(0.001 * step, np.full(2, 0.02 * step))
    state.update(0.1, np.array([position, 2.0]))
    np.testing.assert_array_equal(state.slip_state_bounds, [-np.ones((2, 2)), np.ones((2, 2))])
    for step in range(101, 200):
        state.update(0.001 * step, np.full(2, 0.02 * step))
    np.testing.assert_array_equal(state.slip_state, np.ones((2, 2)))


HAND = """name: mine
source: weighed
bodies:
  - {name: body, xyz: [0.0, 0.0, 0.0], rpy: [0.0, 0.0, 0.0], inertia_about: center_of_mass,
     mass: 0.5, center_of_mass: [0.0, 0.0, 0.1], inertia: [0.001, 0.0, 0.0, 0.001, 0.0, 0.001]}
"""


@pytest.fixture
def hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'mine.yaml').write_text(HAND)
    return 'mine.yaml'


def test_a_hand_files_hand_adds_its_weight_to_gravity(hand):
    # The hand's centre of mass is 0.1 m in front of the flange. The gravity torque is the
    # derivative of its height times its weight, by central differences.
    bare, held = map(fd.NewtonEulerModel, (fd.load('fr3'), fd.load('fr3', hand=hand)))
    q = bare.description.home
    step = 1e-6
    steps = step * np.stack((np.eye(7), -np.eye(7)))
    up, down = (bare.frames(q + steps)[:, :, -1] @ [0.0, 0.0, 0.1, 1.0])[..., 2]
    expected = 0.5 * 9.81 * (up - down) / (2.0 * step)
    np.testing.assert_allclose(held.gravity(q) - bare.gravity(q), expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize('own', [True, False])
def test_a_hand_of_a_saved_arm_comes_off_or_counts_once(own, hand, tmp_path):
    name = hand if own else 'franka_hand'
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(fd.load('fer', hand=name)))
    bare = fd.load('fer').links[-1].mass
    held = fd.load('fer', hand=name).links[-1].mass
    assert held > bare + 0.4
    assert fd.load(path, hand='none').links[-1].mass == pytest.approx(bare, abs=1e-12)
    # Putting the hand on a second time must not add its mass twice.
    assert fd.load(path).links[-1].mass == fd.load(path, hand=name).links[-1].mass == held


@pytest.mark.parametrize(
    ('spelled', 'name', 'joint'),
    [
        ('FR3', 'fr3', 'fr3_joint1'),
        ('fr3v2.1', 'fr3v2_1', 'fr3v2_1_joint1'),
        ('FR3v2-1', 'fr3v2_1', 'fr3v2_1_joint1'),
        ('Panda', 'fer', 'panda_joint1'),
    ],
)
def test_an_arm_is_found_however_its_name_is_spelled(spelled, name, joint):
    arm = fd.load(spelled, prefix='left_')
    expected = fd.load(name)
    assert arm.joint_names[0] == f'left_{joint}' and arm.links == expected.links


def test_given_a_payload_when_read_back_then_it_is_the_same_body(tmp_path):
    # The hand's centre of mass has only positive coordinates.
    hand = fd.load_hand('franka_hand')
    center = np.array([-0.01, 0.02, -0.03])
    body = fd.LinkInertia.from_center_of_mass(0.2, center, np.zeros(6))
    np.testing.assert_allclose(payload.payload_array(body)[1:4], center, rtol=1e-12)
    numbers = payload.payload_array(hand)
    path = tmp_path / 'payload.yaml'
    path.write_text(payload.payload_parameter_text(numbers, 'a hand'))
    for given in (str(path), ','.join(str(value) for value in numbers)):
        found = payload.payload_array(payload.read_payload(given))
        # The file has nine digits.
        np.testing.assert_allclose(found, numbers, rtol=1e-8, atol=1e-12)
    point = fd.LinkInertia.from_center_of_mass(0.2, (0.0, 0.0, 0.05), np.zeros(6))
    assert payload.read_payload('0.2,0,0,0.05') == point
    assert payload.read_payload('100,0,0,0.06').mass == 100.0  # the largest


# xx, xy, xz, yy, yz, zz [kg m^2]; off-diagonal elements show a wrong order.
SIX = (2e-3, 1e-4, -2e-4, 3e-3, 3e-4, 4e-3)
# Numbers of github.com/frankaemika/external_gripper_example, a Robotiq 2F-85.
EXAMPLE = {
    'id': 'robotiq',
    'name': 'Robotiq',
    'color': '#808080',
    'mass': 0.9,
    'centerOfMass': [0, 0, 0.057],
    'transformation': [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    'inertia': [0.002, 1e-4, 0, 1e-4, 0.003, 0, 0, 0, 0.004],
}


def test_a_desk_file_has_the_fields_and_numbers_of_frankas_own():
    name = 'ee-my gripper (left)'
    content = json.loads(payload.desk_json(np.array([0.9, 0.0, 0.0, 0.057, *SIX]), name))
    tensor = np.reshape(content['inertia'], (3, 3), order='F')
    np.testing.assert_array_equal(tensor[np.triu_indices(3)], SIX)
    np.testing.assert_array_equal(tensor, tensor.T)
    # "must not be prefixed by 'ee-' and must be a valid URI reference"
    own = {'id': 'my-gripper-left', 'name': name, 'inertia': content['inertia']}
    assert content == {**EXAMPLE, **own}


@pytest.fixture
def desk_file(tmp_path):
    """Return a function: the path of Franka's own example with some fields changed."""

    def write(**changes):
        content = {**EXAMPLE, **changes}
        path = tmp_path / 'endeffector-config.json'
        path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))
        return str(path)

    return write


def test_it_is_read_as_a_hand_and_as_a_payload(desk_file):
    tensor = [[0.002, 1e-4, 0], [1e-4, 0.003, 0], [0, 0, 0.004]]
    expected = fd.LinkInertia.from_center_of_mass(0.9, (0, 0, 0.057), tensor)
    path = desk_file()
    assert fd.load_hand(path) == payload.read_payload(path) == expected
    bare = fd.load('fr3', hand='none')
    carrying = fd.load('fr3', hand=path)
    assert carrying.links[-1] == bare.with_payload(expected).links[-1]
    assert carrying.hand == path
    # Desk accepts a point mass, and files with only mass, centerOfMass and inertia.
    point = desk_file(inertia=[0] * 9, id=None, name=None, color=None, transformation=None)
    assert fd.load_hand(point) == fd.LinkInertia.from_center_of_mass(0.9, (0, 0, 0.057), [0] * 6)


def test_an_inertia_may_be_unsymmetric_by_rounding(desk_file):
    tensor = [*EXAMPLE['inertia'][:3], 1.0000000001e-4, *EXAMPLE['inertia'][4:]]
    found = payload.read_payload(desk_file(inertia=tensor)).parameters()
    expected = payload.read_payload(desk_file()).parameters()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0.0)


# Sums of some twenty products of numbers near one: measured below 1e-14 of the largest entry.
RTOL = 1e-12
SUM_ATOL = 1e-13


def point_masses(seed, count=20):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 2.0, count), rng.uniform(-1.0, 1.0, (count, 3))


@pytest.mark.parametrize('seed', range(2))
def test_parameters_moved_are_those_of_the_moved_point_masses(seed):
    masses, points = point_masses(seed)
    pose = pose_from_xyz_rpy(*np.random.default_rng(100 + seed).uniform(-1.0, 1.0, (2, 3)))
    moved = of_points(masses, points).expressed_in(pose)
    expected = of_points(masses, points @ pose[:3, :3].T + pose[:3, 3])
    np.testing.assert_allclose(moved.parameters(), expected.parameters(), rtol=RTOL, atol=SUM_ATOL)


def test_central_inertia_and_pseudo_inertia_are_sums():
    masses, points = point_masses(3)
    body = of_points(masses, points)
    center = masses @ points / masses.sum()
    np.testing.assert_allclose(body.center_of_mass, center, rtol=RTOL, atol=SUM_ATOL)
    central = of_points(masses, points - center).inertia
    np.testing.assert_allclose(body.inertia_at_center_of_mass, central, rtol=RTOL, atol=1e-12)
    homogeneous = np.column_stack((points, np.ones(len(points))))
    expected = np.einsum('k,ki,kj->ij', masses, homogeneous, homogeneous)
    np.testing.assert_allclose(body.pseudo_inertia(), expected, rtol=RTOL, atol=SUM_ATOL)


def test_masses_in_a_plane_are_physical_with_margins_of_zero():
    masses, points = point_masses(6)
    points[:, 2] = 0.0
    body = of_points(masses, points)
    assert body.is_physical()
    np.testing.assert_allclose(body.triangle_margin(), 0.0, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(body.consistency_margin(), 0.0, rtol=0.0, atol=1e-13)


def test_moments_1_2_4_are_of_no_body_and_miss_by_one():
    body = fd.LinkInertia.from_center_of_mass(1.0, (0.3, 0.2, 0.1), (1.0, 0.0, 0.0, 2.0, 0.0, 4.0))
    assert not body.is_physical()
    np.testing.assert_allclose(body.triangle_margin(), -1.0, rtol=0.0, atol=1e-13)
    assert body.consistency_margin() < -0.4  # about half of triangle_margin()


BOX = (1.0 - np.eye(3)) / 12.0  # of a mass and squared sides


@pytest.mark.parametrize('axis', range(3))
def test_solids_have_the_textbooks_inertias(axis):
    radius = 0.03
    length = 0.2
    density = 2710.0
    given = {'center': (center := (0.1, 0.2, -0.3)), 'density': density}
    solid = Cylinder(radius=radius, length=length, axis='xyz'[axis], **given)
    mass = density * np.pi * radius**2 * length
    moments = np.full(3, mass * (3.0 * radius**2 + length**2) / 12.0)
    moments[axis] = 0.5 * mass * radius**2
    size = np.roll((0.3, 0.05, 0.06), axis)
    box = Box(size=size, **given)
    heavy = density * size.prod()
    for found, expected in (
        (solid, fd.LinkInertia.from_center_of_mass(mass, center, np.diag(moments))),
        (
            box,
            fd.LinkInertia.from_center_of_mass(heavy, center, np.diag(BOX @ size**2) * heavy),
        ),
    ):
        parameters = found.link_inertia().parameters()
        np.testing.assert_allclose(parameters, expected.parameters(), rtol=1e-12, atol=1e-14)


ROUNDING = 5e-5  # half of the table's fourth decimal
KKT = 1e-6  # relative; the solver's tolerance is 1e-8 of the rounding


def test_only_link_2_of_the_table_has_a_margin_below_zero():
    links = fd.load('fer', 'ledezma2021').links
    assert [link.is_physical() for link in links] == [
        True,
        False,
        True,
        True,
        True,
        True,
        True,
    ]
    np.testing.assert_allclose(links[1].consistency_margin(), -1.8e-5, rtol=0.0, atol=5e-7)


def test_the_repaired_link_2_is_the_nearest_physical_one():
    # Karush, Kuhn and Tucker: the distance's gradient as a symmetric matrix, the multiplier of the
    # pseudo-inertia, has no negative eigenvalue, and vanishes where that is off its bound.
    link = fd.load('fer', 'ledezma2021').links[1]
    moved = repaired_link(link, ROUNDING)
    moves = (moved.parameters() - link.parameters()) / ROUNDING
    assert 0.1 < np.abs(moves).max() < 1.0  # another bound, the rounding, does not act
    steps = np.array([fd.LinkInertia.from_parameters(x).pseudo_inertia() for x in np.eye(10)])
    upper = np.triu_indices(4)
    multiplier = np.zeros((4, 4))
    multiplier[upper] = np.linalg.solve(steps[:, *upper], moves)
    multiplier += multiplier.T
    slack = moved.pseudo_inertia() / ROUNDING - 1e-3 * np.eye(4)
    bound = KKT * np.linalg.norm(multiplier)
    assert np.linalg.eigvalsh(multiplier)[0] > -bound
    assert abs(np.tensordot(multiplier, slack)) < bound


@pytest.mark.parametrize('hand', ['as_listed', 'franka_hand'])
def test_the_table_loaded_with_its_repair_says_so_and_is_usable(hand):
    arm = fd.load('fer', 'ledezma2021', hand=hand, repair=REPAIR_TO_NEAREST)
    arm.require_physical('a test')
    printed = fd.load('fer', 'ledezma2021', hand=hand)
    for i, (link, before) in enumerate(zip(arm.links, printed.links)):
        moved = np.abs(link.parameters() - before.parameters()).max()
        assert (0.0 < moved <= ROUNDING) if i == 1 else moved == 0.0
    assert fd.load('fer', 'gaz2019', repair=REPAIR_TO_NEAREST).repairs == ()
    (sentence,) = arm.repairs
    assert all(one in sentence for one in ('fer_joint2', '-1.8e-05', '5e-05'))


def test_the_table_is_written_only_repaired_and_says_so():
    with refuses(InertiaError, 'nearest_within_rounding'):
        robot_file_text(fd.load('fer', 'ledezma2021'), 'urdf')
    text = robot_file_text(fd.load('fer', 'ledezma2021', repair=REPAIR_TO_NEAREST), 'urdf')
    assert 'fer_joint2' in text.split('-->')[0]


def test_a_repair_beyond_the_rounding_is_refused():
    with refuses(InertiaError, 'fer_joint2', '-1.78e-05', 'at most 1e-06 does not fix'):
        repaired_arm(replace(fd.load('fer', 'ledezma2021'), rounding=1e-6))


def test_a_table_of_centres_of_mass_is_not_repaired(tmp_path):
    path = tmp_path / 'own.yaml'
    fd.save(fd.load('fer', 'franka_description'), path)
    text = path.read_text().replace('first_moment:', 'center_of_mass:')
    path.write_text(text.replace('    source:', '    rounding: 1.0e-4\n    source:'))
    with refuses(InertiaError, 'centres of mass'):
        fd.load(path, repair=REPAIR_TO_NEAREST)


PRINTED = 5.1e-5  # of four printed decimals; the largest difference is 4.92e-5
# Of the Exp[licit] derivation: tensors in space axes about the frames' origins at zero, twists.
TENSORS = (
    (0.7470, -0.0002, 0.0086, 0.7503, 0.0201, 0.0092),
    (0.0085, 0.0103, 0.0040, 0.0265, -0.0008, 0.0281),
    (0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182),
    (0.0677, -0.0039, 0.0277, 0.0776, 0.0016, 0.0324),
    (0.0394, -0.0015, -0.0046, 0.0315, 0.0022, 0.0109),
    (0.0025, 0.0001, 0.0015, 0.0118, -0.0001, 0.0106),
    (0.0308, -0.0004, 0.0007, 0.0284, -0.0005, 0.0067),
)
TWISTS = (
    (0, 0, 0, 0, 0, 1),
    (0.333, 0, 0, 0, -1, 0),
    (0, 0, 0, 0, 0, 1),
    (-0.649, 0, 0.0825, 0, 1, 0),
    (0, 0, 0, 0, 0, 1),
    (-1.033, 0, 0, 0, 1, 0),
    (0, 0.088, 0, 0, 0, -1),
)


def test_gazs_links_and_a_hand_are_those_of_the_table_of_2021():
    gaz = fd.load('fer', 'gaz2019', hand='none').links
    table = fd.load('fer', 'ledezma2021').links
    flange = np.eye(4)
    flange[2, 3] = 0.107
    last = gaz[6] + fd.load_hand('hand_ledezma2021').expressed_in(flange)
    for one, other in zip((*gaz[1:6], last), table[1:]):  # of link 1 the tables differ in c_z
        np.testing.assert_allclose(one.parameters(), other.parameters(), rtol=0, atol=PRINTED)


def test_tensors_in_space_and_twists_are_the_published_ones():
    found = fd.space_inertias(fd.load('fer', 'ledezma2021'), np.zeros(7))
    tensors = [elements_from_tensor(link.about_frame_origin) for link in found]
    np.testing.assert_allclose(tensors, TENSORS, rtol=0.0, atol=1e-14)
    # The axes of joints 2, 4 and 6 point the other way there.
    signs = np.array([1, -1, 1, -1, 1, -1, 1])[:, None]
    twists = fd.ExponentialsModel(fd.load('fer')).space_twists
    np.testing.assert_allclose(signs * twists, TWISTS, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize('name', ['Greifer \U0001f600', 'back\\slash \U0001f600\U0001f601'])
def test_a_desk_file_with_any_character_in_its_name_is_read(name, tmp_path):
    path = tmp_path / 'gripper.json'
    path.write_text(payload.desk_json([1.0, 0.0, 0.0, 0.05], name), encoding='utf-8')
    assert fd.load_hand(path).mass == 1.0
    assert fd.arm.hands.hand_title(str(path)) == name


def test_a_hand_beside_a_payload_counts_for_the_rated_load():
    loaded = fd.load('fr3', hand='none').with_payload([2.9, 0.0, 0.0, 0.05])
    with refuses(InertiaError, 'franka_hand', '2.9 kg', '(3 kg)'):
        with_hand(loaded, 'franka_hand')


def test_no_hand_is_no_hand_to_load():
    with refuses(UnknownArmError, "'none' is no hand"):
        fd.load_hand('none')


@pytest.mark.parametrize('rounding', [0.0, -1.0, np.nan])
def test_a_repair_without_a_rounding_is_refused(rounding):
    link = fd.LinkInertia.from_center_of_mass(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    with refuses(InertiaError, 'rounding of the link'):
        repaired_link(link, rounding)


@pytest.mark.parametrize(
    'limits',
    [
        {'velocity_offset': np.nan, 'velocity_deceleration': 1.0},
        {'velocity_offset': -0.1, 'velocity_deceleration': 1.0},
        {'velocity_offset': 0.1, 'velocity_deceleration': np.inf},
    ],
)
def test_offsets_of_a_velocity_limit_are_finite_and_positive(limits):
    with refuses(DescriptionError, 'velocity_'):
        JointLimits(velocity=2.0, **limits)
