# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Busellato 2023, the RPR report: every formula that errata names, corrected and as printed.

The oracle is the Newton-Euler recursion on the same arm; printed formulas are written out here.
`misses` states by how much each fails at one state, in the units of its largest entry.
"""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.inertia import steiner
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.rpr.dynamics import RprDynamics
from franka_dynamics.rpr.kinematics import RprKinematics

D0, A1, A3, D2BAR = 0.3, 0.2, 0.4, 0.3
H1, R1, A2, B2, C2, H3, R3 = 0.2, 0.03, 0.3, 0.05, 0.06, 0.4, 0.025
M1, M2, M3, G = 1.3, 1.1, 0.9, 9.81
Q, DQ = np.array([0.4, 0.05, 0.7]), np.array([0.8, -0.3, 1.1])
S1, COS1, S3, COS3 = np.sin(Q[0]), np.cos(Q[0]), np.sin(Q[2]), np.cos(Q[2])
D = D2BAR + Q[1]
CYLINDER_1 = LinkInertia.from_cylinder(R1, H1, axis='x', center=(H1 / 2, 0, 0), mass=M1)
CYLINDER_3 = LinkInertia.from_cylinder(R3, H3, axis='y', center=(0, -H3 / 2, 0), mass=M3)
BOX_ALONG_Z = LinkInertia.from_box((C2, B2, A2), center=(0, 0, A2 / 2), mass=M2)
BOX_AS_PRINTED = LinkInertia.from_box((A2, B2, C2), center=(0, 0, A2 / 2), mass=M2)
ARM = replace(load('rpr'), links=(CYLINDER_1, BOX_AS_PRINTED, CYLINDER_3), friction=None)
MODEL = NewtonEulerModel(ARM)
CLOSED = RprDynamics.from_description(ARM)
KINEMATICS = CLOSED.kinematics
FRAMES = MODEL.frames(Q)
P = FRAMES[2, :3, 3]
ATOL = 1e-14


def misses(printed, true, by):
    """Assert that the largest difference is the stated one, to a hundredth of it."""
    gap = float(np.abs(np.asarray(printed) - np.asarray(true)).max())
    np.testing.assert_allclose(gap, by, rtol=1e-2, atol=0.0)


def center(link):
    return FRAMES[link, :3, :3] @ ARM.links[link].center_of_mass + FRAMES[link, :3, 3]


def center_slope(link, step=1e-6):
    """Return the derivative of a centre of mass by q, by central differences, (3, 3)."""

    def at(q):
        pose = MODEL.frames(q)[link]
        return pose[:3, :3] @ ARM.links[link].center_of_mass + pose[:3, 3]

    return np.stack(
        [(at(Q + step * unit) - at(Q - step * unit)) / (2 * step) for unit in np.eye(3)], axis=-1
    )


# --- section 1: transforms (right), inverse kinematics, Jacobians


def test_the_arm_files_lengths_are_those_of_this_file():
    assert KINEMATICS == RprKinematics(D0, A1, D2BAR, A3)


def test_the_printed_transforms_chained_are_right():
    first = np.array(
        [[COS1, 0, S1, A1 * COS1], [S1, 0, -COS1, A1 * S1], [0, 1, 0, D0], [0, 0, 0, 1]]
    )
    second = np.array([[0, 0, -1, 0], [1, 0, 0, 0], [0, -1, 0, D], [0, 0, 0, 1]])
    third = np.array(
        [[S3, COS3, 0, A3 * S3], [-COS3, S3, 0, -A3 * COS3], [0, 0, 1, 0], [0, 0, 0, 1]]
    )
    for pose, expected in zip(FRAMES, (first, first @ second, first @ second @ third)):
        np.testing.assert_allclose(pose, expected, rtol=0.0, atol=ATOL)


def test_the_first_clean_t_b_3_is_right_as_printed():
    printed = [
        [S1 * COS3, -S1 * S3, -COS1, D * S1 + A1 * COS1 + A3 * S1 * COS3],
        [-COS1 * COS3, COS1 * S3, -S1, -D * COS1 + A1 * S1 - A3 * COS1 * COS3],
        [S3, COS3, 0, D0 + A3 * S3],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(FRAMES[2], printed, rtol=0.0, atol=ATOL)


def test_the_identity_behind_d2_is_right_as_printed():
    printed = D**2 + 2 * A3 * D * COS3 + A1**2 + A3**2 * COS3**2
    np.testing.assert_allclose(P[0] ** 2 + P[1] ** 2, printed, rtol=0.0, atol=ATOL)


def test_atan2_of_w_gives_theta_1_and_the_printed_signs_miss():
    reach = D + A3 * COS3
    theta1 = np.arctan2(reach * P[0] + A1 * P[1], A1 * P[0] - reach * P[1])
    np.testing.assert_allclose(theta1, Q[0], rtol=0.0, atol=ATOL)
    # With the product d2 d2bar of the print read as the sum D; they are no sine and cosine.
    sine = (P[1] * COS3 - P[2] * S3 + D * S3) / A1
    cosine = (P[1] * S3 + P[2] * COS3 - D * COS3 - A3) / A1
    misses([np.hypot(sine, cosine)], 1.0, 2.95)
    misses(np.arctan2(sine, cosine), Q[0], 2.8)
    misses(np.arctan2(-sine, cosine), Q[0], 2)


def test_inverting_a_position_gives_exactly_four_branches():
    branches = KINEMATICS.inverse(P)
    assert branches.shape == (4, 3)
    for branch in branches:
        np.testing.assert_allclose(MODEL.frames(branch)[2, :3, 3], P, rtol=0.0, atol=ATOL)
    assert len({tuple(np.round(branch, 6)) for branch in branches}) == 4
    np.testing.assert_allclose(branches[0], Q, rtol=0.0, atol=ATOL)


def test_j_a_has_column_3_corrected_and_the_printed_one_misses():
    true = MODEL.jacobian(Q)[:3]
    corrected = np.array(
        [
            [D * COS1 - A1 * S1 + A3 * COS3 * COS1, S1, -A3 * S1 * S3],
            [D * S1 + A1 * COS1 + A3 * S1 * COS3, -COS1, A3 * COS1 * S3],
            [0, 0, A3 * COS3],
        ]
    )
    np.testing.assert_allclose(corrected, true, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(KINEMATICS.analytical_jacobian(Q), true, rtol=0.0, atol=ATOL)
    printed = corrected.copy()
    printed[:, 2] = A3 * S1 * S3, -A3 * COS1 * S3, A3 * COS3
    misses(printed, true, 0.475)
    gradient = corrected.copy()  # the report's two versions of this row disagree
    gradient[:, 2] = A3 * S1 * S3, -A3 * S1 * S3, A3 * COS3
    misses(gradient, true, 0.338)


def test_j_g_has_columns_1_and_3_corrected_and_printed_ones_miss():
    true = MODEL.jacobian(Q)
    np.testing.assert_allclose(KINEMATICS.geometric_jacobian(Q), true, rtol=0.0, atol=ATOL)
    printed = true.copy()
    printed[:2, 0] = (COS1 * D - A1 * S1 - A3 * COS1 * COS3, S1 * D + A1 * COS1 - A3 * S1 * COS3)
    misses(printed, true, 0.564)
    printed = true.copy()
    printed[:3, 2] = -A3 * S1 * S3, A3 * COS1 * COS3, -A3 * COS3
    misses(printed, true, 0.612)


# --- section 2: centres of mass, tensors, B, T, U


def test_given_p_l1_and_p_l3_when_compared_then_they_are_right():
    np.testing.assert_allclose(
        center(0), [(H1 / 2 + A1) * COS1, (H1 / 2 + A1) * S1, D0], rtol=0.0, atol=ATOL
    )
    printed = [
        D * S1 + A1 * COS1 + H3 / 2 * S1 * S3 + A3 * S1 * COS3,
        -D * COS1 + A1 * S1 - H3 / 2 * COS1 * S3 - A3 * COS1 * COS3,
        D0 - H3 / 2 * COS3 + A3 * S3,
    ]
    np.testing.assert_allclose(center(2), printed, rtol=0.0, atol=ATOL)


def test_p_l2_has_a2_and_the_printed_c2_misses():
    def at(length):
        return [D * S1 + (A1 - length / 2) * COS1, -D * COS1 + (A1 - length / 2) * S1, D0]

    np.testing.assert_allclose(center(1), at(A2), rtol=0.0, atol=ATOL)
    misses(at(C2), center(1), 0.1105)


def test_j_p_l2_as_printed_lacks_a1_in_column_1():
    true = center_slope(1)[:, 0]
    printed = np.array([D * COS1 + A2 / 2 * S1, D * S1 - A2 / 2 * COS1, 0])
    np.testing.assert_allclose(printed + [-A1 * S1, A1 * COS1, 0], true, rtol=0.0, atol=1e-9)
    misses(printed, true, 0.1842)


def test_j_p_l3_as_printed_lacks_d_and_a1_in_column_1():
    true = center_slope(2)[:, 0]
    kappa = A3 * COS3 + H3 / 2 * S3
    printed = np.array([COS1 * kappa, S1 * kappa, 0])
    np.testing.assert_allclose(
        printed + [D * COS1 - A1 * S1, D * S1 + A1 * COS1, 0], true, rtol=0.0, atol=1e-9
    )
    misses(printed, true, 0.3205)


def test_link_3_along_y3_has_m_r_squared_half_in_iyy():
    true = CYLINDER_3.inertia_at_center_of_mass
    across = M3 * (3 * R3**2 + H3**2) / 12
    np.testing.assert_allclose(
        true, np.diag([across, M3 * R3**2 / 2, across]), rtol=0.0, atol=ATOL
    )
    misses(np.diag([M3 * R3**2 / 2, across, across]), true, 0.01186)


@pytest.mark.parametrize(
    ('radius', 'length', 'mass', 'by'), [(R1, H1, M1, 0.0231), (R3, H3, M3, 0.0607)]
)
def test_a_cylinders_moment_across_is_a_twelfth_not_a_half(radius, length, mass, by):
    true = LinkInertia.from_cylinder(radius, length, axis='x', mass=mass).inertia[1, 1]
    np.testing.assert_allclose(mass * (3 * radius**2 + length**2) / 12, true, rtol=0.0, atol=ATOL)
    misses(mass * (3 * radius**2 + length**2) / 2, true, by)


def test_the_box_tensor_as_printed_has_a2_on_x_unlike_p_l2():
    printed = M2 / 12 * np.diag([B2**2 + C2**2, A2**2 + C2**2, A2**2 + B2**2])
    np.testing.assert_allclose(
        BOX_AS_PRINTED.inertia_at_center_of_mass, printed, rtol=0.0, atol=ATOL
    )
    misses(printed, BOX_ALONG_Z.inertia_at_center_of_mass, M2 * (A2**2 - C2**2) / 12)


def by_definition(tensors):
    """Return B by the report's definition with given tensors, the Jacobians by differences."""
    total = np.zeros((3, 3))
    for i, (mass, tensor) in enumerate(zip((M1, M2, M3), tensors)):
        linear = center_slope(i)
        angular = MODEL.jacobian(Q, i + 1)[3:]
        rotation = FRAMES[i, :3, :3]
        total += mass * linear.T @ linear + angular.T @ rotation @ tensor @ rotation.T @ angular
    return total


def test_b_of_central_tensors_is_right_and_steiner_twice_misses():
    true = MODEL.mass_matrix(Q)
    central = [link.inertia_at_center_of_mass for link in ARM.links]
    np.testing.assert_allclose(by_definition(central), true, rtol=0.0, atol=1e-9)
    twice = [
        tensor + steiner(link.mass, link.center_of_mass)
        for tensor, link in zip(central, ARM.links)
    ]
    misses(by_definition(twice), true, 0.0527)


def test_b33_is_corrected_and_both_printed_ones_miss():
    true = MODEL.mass_matrix(Q)[2, 2]
    np.testing.assert_allclose(M3 * (A3**2 + H3**2 / 3 + R3**2 / 4), true, rtol=0.0, atol=ATOL)
    misses(M3 * (A3**2 + H3**2 + 1.5 * R3**2), true, 0.0967)
    misses(M2 * (A3**2 + H3**2 + R3**2), true, 0.1605)  # section 2 has m2 and 3/3


def test_b12_and_b13_are_corrected_and_the_printed_ones_miss():
    true = MODEL.mass_matrix(Q)
    np.testing.assert_allclose(M2 * A2 / 2 - A1 * (M2 + M3), true[0, 1], rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(
        A1 * M3 * (A3 * S3 - H3 * COS3 / 2), true[0, 2], rtol=0.0, atol=ATOL
    )
    misses(M2 * A2**2 / 2, true[0, 1], 0.2845)
    misses(0.0, true[0, 2], 0.01885)


def test_b22_and_b23_are_right_as_printed():
    true = MODEL.mass_matrix(Q)
    np.testing.assert_allclose(
        [M2 + M3, M3 * (H3 * COS3 / 2 - A3 * S3)], true[1, 1:], rtol=0.0, atol=ATOL
    )


def printed_k():
    return (
        M1 * (A1**2 + A1 * H1 + H1**2 + 1.5 * R1**2)
        + M2 * (0.5 * A2**2 + (B2**2 + C2**2) / 12 + D**2)
        + M3
        * (
            0.5 * (A3**2 + R3**2) * (COS3**2 - S3**2)
            + 0.5 * A3**2
            + 0.5 * R3**2
            + A3 * H3 * S3 * COS3
        )
    )


def test_b11_is_0_855180_and_the_printed_k_is_0_498083():
    corrected = (
        M1 * ((A1 + H1 / 2) ** 2 + (3 * R1**2 + H1**2) / 12)
        + M2 * (D**2 + (A1 - A2 / 2) ** 2 + (B2**2 + C2**2) / 12)
        + M3
        * (
            (D + A3 * COS3 + H3 * S3 / 2) ** 2
            + A1**2
            + (3 * R3**2 + H3**2) * S3**2 / 12
            + R3**2 * COS3**2 / 2
        )
    )
    np.testing.assert_allclose(corrected, MODEL.mass_matrix(Q)[0, 0], rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(corrected, 0.855180, rtol=0.0, atol=0.5e-6)
    np.testing.assert_allclose(printed_k(), 0.498083, rtol=0.0, atol=0.5e-6)


def test_t_has_products_as_cross_terms_and_printed_squares_miss():
    true = 0.5 * DQ @ MODEL.mass_matrix(Q) @ DQ
    np.testing.assert_allclose(CLOSED.kinetic_energy(Q, DQ), true, rtol=0.0, atol=ATOL)
    v1, v2, v3 = DQ
    printed = 0.25 * (
        (2 * printed_k() + M2 * A2**2) * v1**2
        + (M2 * (2 + A2**2) + M3 * (2 + H3 * COS3 - 2 * A3 * S3)) * v2**2
        + M3 * (H3 * COS3 - 2 * A3 * S3 + 2 * A3**2 + 2 * H3**2 + 3 * R3**2) * v3**2
    )
    misses(printed, true, 0.203)
    # Even with the report's own B the expansion is not 1/2 dq' B dq.
    b12, b23 = M2 * A2**2 / 2, M3 * (H3 * COS3 / 2 - A3 * S3)
    own = np.array(
        [[printed_k(), b12, 0], [b12, M2 + M3, b23], [0, b23, M3 * (A3**2 + H3**2 + 1.5 * R3**2)]]
    )
    misses(printed, 0.5 * DQ @ own @ DQ, 0.0624)


def test_u_has_its_sign_corrected_and_the_printed_one_misses():
    true = G * sum(link.mass * center(i)[2] for i, link in enumerate(ARM.links))
    corrected = G * ((M1 + M2 + M3) * D0 + M3 * (A3 * S3 - H3 * COS3 / 2))
    np.testing.assert_allclose(corrected, true, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(CLOSED.potential_energy(Q), true, rtol=0.0, atol=ATOL)
    misses(G * ((M1 + M2 + M3) * D0 + M3 * (H3 * COS3 / 2 - A3 * S3)), true, 1.849)


# --- section 3: g, C


def test_given_g_when_compared_then_the_printed_one_is_right():
    printed = [0, 0, M3 * G * (A3 * COS3 + H3 * S3 / 2)]
    np.testing.assert_allclose(printed, MODEL.gravity(Q), rtol=0.0, atol=ATOL)


def slope_of_b(joint, step=1e-6):
    unit = np.eye(3)[joint]
    return (MODEL.mass_matrix(Q + step * unit) - MODEL.mass_matrix(Q - step * unit)) / (2 * step)


def test_the_slope_of_b_by_q2_as_printed_lacks_m3():
    true = slope_of_b(1)[0, 0]
    energy = (M2 + M3) * D + M3 * (A3 * COS3 + H3 * S3 / 2)
    np.testing.assert_allclose(2 * energy, true, rtol=0.0, atol=1e-9)
    misses(2 * M2 * D, true, 1.413)


def printed_slope_by_q3():
    return M3 * (A3 * H3 * (COS3**2 - S3**2) - 2 * (A3**2 + R3**2) * COS3 * S3)


def test_the_slope_of_b_by_q3_as_printed_misses_in_entry_11():
    true = slope_of_b(2)
    rho, sigma = D + A3 * COS3 + H3 * S3 / 2, A3 * S3 - H3 * COS3 / 2
    corrected = 2 * M3 * (-rho * sigma + (H3**2 - 3 * R3**2) * S3 * COS3 / 12)
    np.testing.assert_allclose(corrected, true[0, 0], rtol=0.0, atol=1e-9)
    misses(printed_slope_by_q3(), true[0, 0], 0.01826)
    np.testing.assert_allclose(-M3 * (H3 * S3 / 2 + A3 * COS3), true[1, 2], rtol=0.0, atol=1e-9)


def test_c_has_its_entries_corrected_and_is_not_symmetric():
    true = MODEL.coriolis_matrix(Q, DQ)
    energy = (M2 + M3) * D + M3 * (A3 * COS3 + H3 * S3 / 2)
    np.testing.assert_allclose(
        [true[0, 1], true[1, 0]], [energy * DQ[0], -energy * DQ[0]], rtol=0.0, atol=ATOL
    )
    np.testing.assert_allclose([true[1, 1], true[2, 1], true[2, 2]], 0.0, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(CLOSED.coriolis_matrix(Q, DQ), true, rtol=0.0, atol=ATOL)
    misses(true.T, true, 1.746)


def test_given_c12_when_compared_then_the_printed_one_lacks_m3():
    misses(M2 * D * DQ[0], MODEL.coriolis_matrix(Q, DQ)[0, 1], 0.565)


def test_c13_as_printed_lacks_a_term_of_theta_3s_rate():
    true = MODEL.coriolis_matrix(Q, DQ)[0, 2]
    half_slope = 0.5 * slope_of_b(2)[0, 0]
    lost = A1 * M3 * (A3 * COS3 + H3 * S3 / 2) * DQ[2]
    np.testing.assert_allclose(half_slope * DQ[0] + lost, true, rtol=0.0, atol=1e-9)
    misses(0.5 * printed_slope_by_q3() * DQ[0], true, 0.0788)


def test_given_c23_when_compared_then_the_printed_one_is_right():
    np.testing.assert_allclose(
        -M3 * (H3 * S3 / 2 + A3 * COS3) * DQ[2],
        MODEL.coriolis_matrix(Q, DQ)[1, 2],
        rtol=0.0,
        atol=ATOL,
    )


def test_the_printed_equations_of_motion_miss_the_torques():
    ddq = np.array([1.0, -2.0, 3.0])
    b12, b23 = M2 * A2**2 / 2, M3 * (H3 * COS3 / 2 - A3 * S3)
    inertia = np.array(
        [[printed_k(), b12, 0], [b12, M2 + M3, b23], [0, b23, M3 * (A3**2 + H3**2 + 1.5 * R3**2)]]
    )
    c12, c13 = M2 * D * DQ[0], 0.5 * printed_slope_by_q3() * DQ[0]
    c23 = -M3 * (H3 * S3 / 2 + A3 * COS3) * DQ[2]
    coriolis = np.array(
        [
            [M2 * D * DQ[1] + 0.5 * printed_slope_by_q3() * DQ[2], c12, c13],
            [c12, 0, c23],
            [c13, c23, 0],
        ]
    )
    printed = inertia @ ddq + coriolis @ DQ + MODEL.gravity(Q)
    misses(printed, MODEL.inverse_dynamics(Q, DQ, ddq), 1.229)
    np.testing.assert_allclose(
        CLOSED.inverse_dynamics(Q, DQ, ddq),
        MODEL.inverse_dynamics(Q, DQ, ddq),
        rtol=0.0,
        atol=1e-13,
    )
