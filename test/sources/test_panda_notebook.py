# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The Panda notebook, the product-of-exponentials notebook: its cells, each as an identity.

Identities are proved in letters, with s_i, c_i for the joints and c_i^2 = 1 - s_i^2; the cells
that print True and are false are proved false, with the difference they hide. `misses` states by
how much at one state of the FER.
"""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.spatial import rpy

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic.chain import (  # noqa: E402
    center_in_link,
    chain_of,
    Kinematics,
)

from ..arms import FRANKA_ORIGINS_AT_ZERO  # noqa: E402

FER = load('fer')
CHAIN = chain_of(FER)
FORMS = Kinematics(CHAIN)
S1, C1, S2, C2, S3, C3 = sp.symbols('s1 c1 s2 c2 s3 c3', real=True)
Z1, Y3 = sp.symbols('z1 y3', real=True)
XC, YC, ZC = center_in_link(3)
V1, V2, V3, *_ = VELOCITIES = sp.symbols('v1:8', real=True)
# The state at which the false cells are evaluated.
Q = np.array([0.4, -0.7, 0.5, -1.9, 0.3, 1.2, 0.8])
DQ = np.array([0.9, -0.6, 1.1, 0.7, -1.3, 0.5, 1.5])
ATOL = 1e-14


def misses(printed, true, by):
    """Assert that the largest difference is the stated one, to a hundredth of it."""
    gap = float(np.abs(np.asarray(printed) - np.asarray(true)).max())
    np.testing.assert_allclose(gap, by, rtol=1e-2, atol=0.0)


def is_zero(matrix):
    """Return whether every entry vanishes by c_i^2 = 1 - s_i^2."""
    for entry in sp.Matrix(matrix):
        rest = sp.expand(entry)
        for i in range(1, 8):
            sine, cosine = sp.symbols(f's{i} c{i}', real=True)
            rest = sp.expand(rest)
            if rest.has(cosine):
                rest = sp.expand(
                    sum(
                        part * cosine ** (power % 2) * (1 - sine**2) ** (power // 2)
                        for (power,), part in sp.Poly(rest, cosine).terms()
                    )
                )
        if rest != 0:
            return False
    return True


def hat3(w):
    return sp.Matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def hat(twist):
    """Twist2Matrix_4x4: (omega, v) -> [[omega], v; 0, 0]."""
    return hat3(twist[:3]).row_join(sp.Matrix(twist[3:])).col_join(sp.zeros(1, 4))


def rotation_exp(axis, sine, cosine):
    """MatrixExp_3x3: Rodrigues' formula for a unit axis."""
    cross = hat3(axis)
    return sp.eye(3) + sine * cross + (1 - cosine) * cross**2


def motion_exp(twist, sine, cosine):
    """MatrixExp_4x4 for a revolute joint's unit twist (omega, v), whose pitch is zero."""
    omega, v = sp.Matrix(twist[:3]), sp.Matrix(twist[3:])
    rotation = rotation_exp(omega, sine, cosine)
    shift = (sp.eye(3) - rotation) * omega.cross(v)
    return rotation.row_join(shift).col_join(sp.Matrix([[0, 0, 0, 1]]))


def inverse(transform):
    """Return what the notebook calls TransformationMatrix_Inverse."""
    back = transform[:3, :3].T
    return back.row_join(-back * transform[:3, 3]).col_join(sp.Matrix([[0, 0, 0, 1]]))


def adjoint_inverse(transform):
    """Return AdjointInverseMatrix for twists (omega, v): [R^T, 0; -R^T [p], R^T]."""
    back, p = transform[:3, :3].T, transform[:3, 3]
    return back.row_join(sp.zeros(3, 3)).col_join((-back * hat3(p)).row_join(back))


def translation(vector):
    out = sp.eye(4)
    out[:3, 3] = vector
    return out


def rate(matrix):
    """Return the time derivative at velocities v_i."""
    total = sp.zeros(*matrix.shape)
    for link, v in zip(CHAIN.links, VELOCITIES):
        by_angle = matrix.diff(link.sine) * link.cosine - matrix.diff(link.cosine) * link.sine
        total += v * by_angle
    return total


def notebook_velocity(frame):
    """Return the notebook's "spatial velocity" (omega, dr_i/dt) (cell 13)."""
    return FORMS.jacobian(frame) * sp.Matrix(VELOCITIES)


def space_twist(frame):
    """Return the true spatial twist (omega, dr_i/dt - omega x r_i)."""
    notebook = notebook_velocity(frame)
    omega = sp.Matrix(notebook[:3])
    return omega.col_join(sp.Matrix(notebook[3:]) - omega.cross(FORMS.position(frame)))


def zero_pose(frame):
    """T_i_0_0: the pose at q = 0 (cells 5 and 6)."""
    at_zero = {sp.Symbol(f's{i}', real=True): 0 for i in range(1, 8)}
    at_zero |= {sp.Symbol(f'c{i}', real=True): 1 for i in range(1, 8)}
    return FORMS.pose(frame).subs(at_zero)


def zero_twist(joint):
    """xi_i_0 = Joint2Twist(omega_i_0, r_i_0) (cell 8)."""
    pose = zero_pose(joint)
    omega, point = pose[:3, 2], pose[:3, 3]
    return omega.col_join(point.cross(omega))


def number(matrix, center=(0.02, 0.04, -0.07)):
    """Return the numbers of a matrix at the state Q, DQ, with a centre of mass."""
    names = {str(letter): value for letter, value in CHAIN.values.items()}
    names |= {f's{i + 1}': np.sin(Q[i]) for i in range(7)}
    names |= {f'c{i + 1}': np.cos(Q[i]) for i in range(7)}
    names |= {f'v{i + 1}': DQ[i] for i in range(7)}
    for link in range(1, 8):
        names |= {f'{axis}c{link}': part for axis, part in zip('xyz', center)}
    matrix = sp.Matrix(matrix)
    return np.array(
        [[eval(str(entry), dict(names)) for entry in matrix.row(i)] for i in range(matrix.rows)],
        dtype=float,
    )


V_3 = notebook_velocity(3)
OMEGA_3 = sp.Matrix(V_3[:3])
R_3, R_M3 = FORMS.position(3), FORMS.center_of_mass(3)
T_3 = FORMS.pose(3)
T_M3 = translation(center_in_link(3))
V_M3 = OMEGA_3.col_join(rate(R_M3))
T_COM = T_3 * (T_M3 - sp.eye(4)) + sp.eye(4)


def test_cell_6_gives_the_published_origins():
    origins = [
        [float(part.subs(CHAIN.values)) for part in zero_pose(i)[:3, 3]] for i in range(1, 9)
    ]
    np.testing.assert_allclose(origins, FRANKA_ORIGINS_AT_ZERO, rtol=0.0, atol=1e-15)


def test_cell_7_on_the_fer_happens_to_hold_with_axes_in_reverse():
    rolls = (0.0, -np.pi / 2, np.pi / 2, np.pi / 2, -np.pi / 2, np.pi / 2, np.pi / 2)
    axis = np.array([0.0, 0.0, 1.0])
    poses = ExponentialsModel(FER).zero_transforms
    for i, roll in enumerate(rolls):
        axis = rpy(roll, 0.0, 0.0) @ axis
        np.testing.assert_allclose(axis, poses[i, :3, 2], rtol=0.0, atol=1e-15)


def test_turns_about_two_axes_make_cell_7s_reverse_order_wrong():
    first, second = rpy(0.7, 0.0, 0.0), rpy(0.0, 0.9, 0.0)
    z = np.array([0.0, 0.0, 1.0])
    pose = np.eye(4)
    for turn in (first, second):
        step = np.eye(4)
        step[:3, :3] = turn
        pose = pose @ step
    np.testing.assert_allclose(first @ second @ z, pose[:3, 2], rtol=0.0, atol=ATOL)
    misses(second @ first @ z, pose[:3, 2], 0.244)


@pytest.mark.parametrize('joint', range(1, 8))
def test_cell_8s_twists_are_those_of_the_formulation(joint):
    expected = ExponentialsModel(FER).space_twists[joint - 1]
    actual = np.array(zero_twist(joint).subs(CHAIN.values).tolist(), dtype=float)[:, 0]
    np.testing.assert_allclose(actual, [*expected[3:], *expected[:3]], rtol=0.0, atol=1e-15)


@pytest.mark.parametrize('frame', range(1, 5))
def test_cell_9s_exponentials_expand_to_the_chains_pose(frame):
    product = sp.eye(4)
    for i in range(1, frame + 1):
        product = product * motion_exp(zero_twist(i), *sp.symbols(f's{i} c{i}', real=True))
    assert is_zero(product * zero_pose(frame) - FORMS.pose(frame))


def test_cell_9s_eight_poses_are_those_of_the_dh_rows():
    for q in np.random.default_rng(0).uniform(-2.5, 2.5, (20, 7)):
        np.testing.assert_allclose(
            ExponentialsModel(FER).frames(q), NewtonEulerModel(FER).frames(q), rtol=0.0, atol=ATOL
        )


@pytest.mark.parametrize('joint', range(1, 5))
def test_cell_10s_axis_is_the_third_column_of_the_pose(joint):
    axis = zero_pose(joint)[:3, 2]
    for i in range(joint, 0, -1):
        turn = zero_pose(i)[:3, 2]
        axis = rotation_exp(turn, *sp.symbols(f's{i} c{i}', real=True)) * axis
    assert is_zero(axis - FORMS.axis(joint))


@pytest.mark.parametrize('joint', range(1, 5))
def test_cell_11s_twist_is_the_adjoint_of_that_at_zero(joint):
    product = sp.eye(4)
    for i in range(1, joint):
        product = product * motion_exp(zero_twist(i), *sp.symbols(f's{i} c{i}', real=True))
    carried = product * hat(zero_twist(joint)) * inverse(product)
    assert is_zero(carried - hat(FORMS.joint_twist(joint)))


def test_cell_12s_centers_of_mass_are_pinocchios():
    model = PinocchioModel(FER)
    poses = model.frames(Q)
    for i, link in enumerate(FER.links):
        expected = poses[i, :3, :3] @ link.center_of_mass + poses[i, :3, 3]
        actual = number(FORMS.center_of_mass(i + 1), link.center_of_mass)[:, 0]
        np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL)


def test_cell_13s_angular_part_is_that_of_the_rotation():
    rotation = T_3[:3, :3]
    assert is_zero(rate(rotation) * rotation.T - hat3(OMEGA_3))


def test_cell_14s_true_is_false_and_differs_by_omega_cross_r():
    difference = rate(T_3) * inverse(T_3) - hat(V_3)
    assert not is_zero(difference)
    assert is_zero(difference - hat(sp.zeros(3, 1).col_join(-OMEGA_3.cross(R_3))))
    misses(number(difference), 0.0, 0.338)  # m/s


def test_cell_14_corrected_gives_the_poses_space_twist():
    assert is_zero(rate(T_3) * inverse(T_3) - hat(space_twist(3)))


def test_cell_16s_residual_is_omega_3_cross_r_3_by_entries():
    twists = zero_twist(1), zero_twist(2), zero_twist(3)
    e1, e2 = motion_exp(twists[0], S1, C1), motion_exp(twists[1], S2, C2)
    residual = (
        hat(V_3)
        - hat(twists[0]) * V1
        - e1 * hat(twists[1]) * inverse(e1) * V2
        - e1 * e2 * hat(twists[2]) * inverse(e2) * inverse(e1) * V3
    )
    printed = sp.Matrix(
        [
            Y3 * S1 * S2 * V1 - Y3 * C1 * C2 * V2 + Z1 * S1 * S2 * V3 + Z1 * C1 * V2,
            -Y3 * S1 * C2 * V2 - Y3 * S2 * C1 * V1 + Z1 * S1 * V2 - Z1 * S2 * C1 * V3,
            Y3 * S2 * V2,
        ]
    )
    assert is_zero(residual - hat(sp.zeros(3, 1).col_join(printed)))
    assert is_zero(printed - OMEGA_3.cross(R_3))


def test_cell_18s_true_is_false_and_differs_by_omega_cross_r_m():
    pose = T_3 * T_M3
    difference = rate(pose) * inverse(pose) - hat(V_M3)
    assert not is_zero(difference)
    assert is_zero(difference - hat(sp.zeros(3, 1).col_join(-OMEGA_3.cross(R_M3))))
    misses(number(difference), 0.0, 0.394)  # m/s


def test_cell_19s_true_residual_is_zero():
    pose = T_3 * T_M3
    assert is_zero(rate(pose) * inverse(pose) - rate(T_3) * inverse(T_3))


def test_cell_19s_printed_first_entry_is_omega_cross_the_lever():
    printed = (
        -XC
        * (S1 * C2 * C3 * V1 + S1 * C3 * V3 + S2 * C1 * C3 * V2 + S3 * C1 * C2 * V3 + S3 * C1 * V1)
        + YC
        * (S1 * S3 * C2 * V1 + S1 * S3 * V3 + S2 * S3 * C1 * V2 - C1 * C2 * C3 * V3 - C1 * C3 * V1)
        - ZC * S1 * S2 * V1
        + ZC * C1 * C2 * V2
    )
    assert is_zero(sp.Matrix([printed - OMEGA_3.cross(R_M3 - R_3)[0]]))
    misses(number([printed]), 0.0, 0.0562)  # m/s, printed where the true residual is 0


def test_cell_20_takes_a_fixed_transform_out_of_the_derivative():
    assert is_zero(rate(T_3) * T_M3 - rate(T_3 * T_M3))


def test_cell_21s_two_checks_hold():
    assert is_zero(FORMS.center_of_mass_jacobian(5)[:3, :] - FORMS.jacobian(5)[:3, :])
    lever = R_M3 - R_3
    assert is_zero(hat3(lever) * OMEGA_3 + sp.Matrix(V_M3[3:]) - sp.Matrix(V_3[3:]))


def test_cell_21s_text_misses_with_c_unturned_and_holds_with_r_3():
    relative = sp.Matrix(V_M3[3:]) - sp.Matrix(V_3[3:])
    center = center_in_link(3)
    assert is_zero(relative - OMEGA_3.cross(T_3[:3, :3] * center))
    assert not is_zero(relative - OMEGA_3.cross(center))
    misses(number(OMEGA_3.cross(center)), number(relative), 0.0445)  # m/s


def test_cell_22s_t_com_carries_velocity_to_the_center_of_mass():
    assert is_zero(T_COM[:3, :3] - sp.eye(3))
    assert is_zero(T_COM[:3, 3] - (R_M3 - R_3))
    assert is_zero(adjoint_inverse(T_COM) * V_3 - V_M3)


def test_cell_23s_unit_velocities_give_the_jacobians_columns():
    for j in range(1, 8):
        unit = {v: int(i == j) for i, v in enumerate(VELOCITIES, 1)}
        assert is_zero(V_3.subs(unit) - FORMS.jacobian(3)[:, j - 1])
        assert is_zero(V_M3.subs(unit) - FORMS.center_of_mass_jacobian(3)[:, j - 1])


def test_cell_24s_j_m_is_the_adjoint_of_t_com_times_j():
    assert is_zero(FORMS.center_of_mass_jacobian(3) - adjoint_inverse(T_COM) * FORMS.jacobian(3))


@pytest.mark.parametrize('frame', range(1, 9))
def test_the_notebooks_jacobians_are_local_world_aligned(frame):
    actual = number(FORMS.jacobian(frame))
    expected = PinocchioModel(FER).jacobian(Q, frame, 'LOCAL_WORLD_ALIGNED')
    np.testing.assert_allclose(
        actual, np.concatenate((expected[3:], expected[:3])), rtol=0.0, atol=ATOL
    )


def test_the_notebooks_jacobian_taken_for_the_spatial_one_misses():
    world = PinocchioModel(FER).jacobian(Q, 3, 'WORLD')
    misses(number(FORMS.jacobian(3)), np.concatenate((world[3:], world[:3])), 0.529)


def test_an_identity_false_by_one_sign_is_found_by_the_checker():
    assert is_zero(sp.Matrix([S1**2 + C1**2 - 1]))
    assert not is_zero(sp.Matrix([S1**2 - C1**2 - 1]))
