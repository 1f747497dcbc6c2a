# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The misprints of the sources: printed and corrected forms against the models of this package.

docs/theory/errata.md lists the same items. The printed forms are written out here, independently
of the code and the arm files. A row has a misprint's name; its printed, corrected and true value;
the error of the printed value; and the tolerance of the corrected value if it is not 1e-14.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import Convention, LinkInertia, load, load_hand
from franka_dynamics.arm.bodies import Box, Cylinder
from franka_dynamics.arm.inertia import parallel_axis_term, six_from_tensor, tensor_from_six
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.dynamics.space_inertia import space_inertias
from franka_dynamics.spatial import rpy

from .gautier_khalil import gautier_khalil
from .kwon import kwon

# --- the RPR report


H1, R1, A2, B2, C2, H3, R3 = 0.2, 0.03, 0.3, 0.05, 0.06, 0.4, 0.025
M1, M2, M3, G = 1.3, 1.1, 0.9, 9.81


def equations_of_motion(q, dq, lengths):
    """Return the values of the package's symbolic Jacobian and equations of motion."""
    sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')
    from franka_dynamics.rpr import symbolic as rpr

    at = dict(zip((rpr.D0, rpr.A1, rpr.A3, rpr.D), lengths))
    at |= dict(zip((rpr.H1, rpr.R1, rpr.A2, rpr.B2, rpr.H3, rpr.R3), (H1, R1, A2, B2, H3, R3)))
    at |= dict(zip((*rpr.MASSES, rpr.G), (M1, M2, M3, G))) | dict(zip(rpr.RATES, dq))
    at |= {rpr.I2X: M2 * (B2**2 + C2**2) / 12}  # as printed
    at |= dict(zip((rpr.S1, rpr.C1, rpr.S3, rpr.C3), (*turned(q[0]), *turned(q[2]))))
    forms = rpr.equations_of_motion()
    return {
        name: np.squeeze(np.array(sp.Matrix([value]).subs(at).tolist(), dtype=float))
        for name, value in (
            *(('J_G', rpr.geometric_jacobian()), ('B', forms.inertia), ('C', forms.coriolis)),
            *(('g', forms.gravity), ('T', forms.kinetic), ('U', forms.potential)),
        )
    }


def turned(angle):
    return np.sin(angle), np.cos(angle)


def rpr_report():
    D0, A1, A3 = 0.3, 0.2, 0.4
    q, dq, ddq = np.array([0.4, 0.05, 0.7]), np.array([0.8, -0.3, 1.1]), np.array([1.0, -2.0, 3.0])
    (s1, c1), (s3, c3), D = (np.sin(q[0]), np.cos(q[0])), (np.sin(q[2]), np.cos(q[2])), 0.3 + q[1]
    cylinder = Cylinder(
        radius=R3, length=H3, axis='y', center=(0, -H3 / 2, 0), mass=M3
    ).link_inertia()
    box = Box(size=(A2, B2, C2), center=(0, 0, A2 / 2), mass=M2).link_inertia()  # as printed
    first = Cylinder(radius=R1, length=H1, axis='x', center=(H1 / 2, 0, 0), mass=M1).link_inertia()
    arm = replace(load('rpr'), links=(first, box, cylinder), friction=None)
    model, closed = NewtonEulerModel(arm), equations_of_motion(q, dq, (D0, A1, A3, D))
    frames = model.frames(q)
    p = frames[2, :3, 3]

    def center(link, q=q):
        pose = model.frames(q)[link]
        return pose[:3, :3] @ arm.links[link].center_of_mass + pose[:3, 3]

    def slope(function, joint, step=1e-6):
        unit = step * np.eye(3)[joint]
        return (function(q + unit) - function(q - unit)) / (2 * step)

    B, C, J = model.mass_matrix(q), model.coriolis_matrix(q, dq), model.jacobian(q)
    B_slope = slope(model.mass_matrix, 2)
    w, rho = D + A3 * c3, D + A3 * c3 + H3 * s3 / 2
    sigma, kappa = A3 * s3 - H3 * c3 / 2, A3 * c3 + H3 * s3 / 2
    energy = (M2 + M3) * D + M3 * kappa
    # Section 1: kinematics.
    sine = (p[1] * c3 - p[2] * s3 + D * s3) / A1
    cosine = (p[1] * s3 + p[2] * c3 - D * c3 - A3) / A1
    theta1 = np.arctan2(w * p[0] + A1 * p[1], A1 * p[0] - w * p[1])
    J_A, J_G = closed['J_G'][:3], closed['J_G']
    column_1 = np.array([D * c1 - A1 * s1, D * s1 + A1 * c1, 0])
    own_1 = np.array([A3 * c1 * c3, A3 * s1 * c3, 0])
    column_3 = [-A3 * s1 * s3, A3 * c1 * s3, A3 * c3]
    # Section 2: centres of mass, tensors, energies.
    slopes = [slope(lambda q, i=i: center(i, q), 0) for i in range(3)]
    lever_2 = A1 - A2 / 2
    link_2 = [D * c1 + A2 / 2 * s1, D * s1 - A2 / 2 * c1, 0]  # as printed
    true_2 = [D * c1 - lever_2 * s1, D * s1 + lever_2 * c1, 0]
    link_3 = np.array([c1 * kappa, s1 * kappa, 0])

    def p_l2(length):
        return [D * s1 + (A1 - length / 2) * c1, -D * c1 + (A1 - length / 2) * s1, D0]

    def across(mass, radius, length, share=12):
        return mass * (3 * radius**2 + length**2) / share

    along_3, across_3 = M3 * R3**2 / 2, across(M3, R3, H3)
    axis_x, axis_y = np.diag([along_3, across_3, across_3]), np.diag([across_3, along_3, across_3])
    sides = np.array([A2, B2, C2]) ** 2
    box_printed, box_true = (np.diag(M2 / 12 * (sum(x) - x)) for x in (sides, sides[::-1]))
    upright = Box(size=(C2, B2, A2), mass=M2).link_inertia()

    def b_of(tensors):
        total = np.zeros((3, 3))
        for i, (mass, tensor) in enumerate(zip((M1, M2, M3), tensors)):
            linear = np.stack([slope(lambda q, i=i: center(i, q), j) for j in range(3)], axis=1)
            spin = frames[i, :3, :3].T @ model.jacobian(q, i + 1)[3:]
            total += mass * linear.T @ linear + spin.T @ tensor @ spin
        return total

    central = [link.inertia_at_center_of_mass for link in arm.links]
    twice = [t + parallel_axis_term(x.mass, x.center_of_mass) for t, x in zip(central, arm.links)]
    turned_3 = 0.5 * (A3**2 + R3**2) * (c3**2 - s3**2) + 0.5 * A3**2 + 0.5 * R3**2
    k = (
        M1 * (A1**2 + A1 * H1 + H1**2 + 1.5 * R1**2)
        + M2 * (0.5 * A2**2 + (B2**2 + C2**2) / 12 + D**2)
        + M3 * (turned_3 + A3 * H3 * s3 * c3)
    )
    b11 = (
        M1 * (A1 + H1 / 2) ** 2
        + across(M1, R1, H1)
        + M2 * (D**2 + lever_2**2 + (B2**2 + C2**2) / 12)
        + M3 * (rho**2 + A1**2 + (3 * R3**2 + H3**2) * s3**2 / 12 + R3**2 * c3**2 / 2)
    )
    b12, b23 = M2 * A2**2 / 2, M3 * (H3 * c3 / 2 - A3 * s3)
    b33, true_33 = M3 * (A3**2 + H3**2 + 1.5 * R3**2), M3 * (A3**2 + H3**2 / 3 + R3**2 / 4)
    own = np.array([[k, b12, 0], [b12, M2 + M3, b23], [0, b23, b33]])
    v1, v2, v3 = dq
    kinetic = 0.25 * (
        (2 * k + M2 * A2**2) * v1**2
        + (M2 * (2 + A2**2) + M3 * (2 + H3 * c3 - 2 * A3 * s3)) * v2**2
        + M3 * (H3 * c3 - 2 * A3 * s3 + 2 * A3**2 + 2 * H3**2 + 3 * R3**2) * v3**2
    )
    T = closed['T']
    lifted = G * sum(link.mass * center(i)[2] for i, link in enumerate(arm.links))
    potential = G * ((M1 + M2 + M3) * D0 - M3 * sigma)  # as printed
    # Section 3: equations of motion.
    slope_3 = M3 * (A3 * H3 * (c3**2 - s3**2) - 2 * (A3**2 + R3**2) * c3 * s3)  # as printed
    true_3 = 2 * M3 * (-rho * sigma + (H3**2 - 3 * R3**2) * s3 * c3 / 12)
    slope_2 = slope(model.mass_matrix, 1)[0, 0]
    c12, c13, c23 = M2 * D * v1, 0.5 * slope_3 * v1, -M3 * kappa * v3
    c11 = M2 * D * v2 + 0.5 * slope_3 * v3
    coriolis = np.array([[c11, c12, c13], [c12, 0, c23], [c13, c23, 0]])
    true_13 = 0.5 * B_slope[0, 0] * v1 + A1 * M3 * kappa * v3
    motion = own @ ddq + coriolis @ dq + model.gravity(q)
    tau = model.inverse_dynamics(q, dq, ddq)
    closed_tau = closed['B'] @ ddq + closed['C'] @ dq + closed['g']
    cylinders = [
        (across(m, r, h, 2), across(m, r, h), link.inertia_at_center_of_mass[2, 2])
        for m, r, h, link in ((M1, R1, H1, first), (M3, R3, H3, cylinder))
    ]
    return [
        ('1.3 theta1', np.arctan2(sine, cosine), theta1, q[0], 2.8),
        ('1.3 sine and cosine of theta1', np.hypot(sine, cosine), 1.0, 1.0, 2.95),
        ('1.4 J_A column 3', [A3 * s1 * s3, -A3 * c1 * s3, A3 * c3], J_A[:, 2], J[:3, 2], 0.475),
        ('1.4 gradient', [A3 * s1 * s3, -A3 * s1 * s3, A3 * c3], column_3, J[:3, 2], 0.338),
        ('1.5 J_G column 1', column_1 - own_1, column_1 + own_1, J[:3, 0], 0.564),
        ('1.5 J_G column 3', [*column_3[:1], A3 * c1 * c3, -A3 * c3], J_G[:3, 2], J[:3, 2], 0.612),
        ('2 p_l2', p_l2(C2), p_l2(A2), center(1), 0.1105),
        ('2.1 J_P of link 2, column 1', link_2, true_2, slopes[1], 0.1842, 1e-9),
        ('2.1 J_P of link 3, column 1', link_3, column_1 + link_3, slopes[2], 0.3205, 1e-9),
        ("2.1 link 3's axis", axis_x, axis_y, cylinder.inertia_at_center_of_mass, 0.01186),
        ('2.1 moment across cylinder 1', *cylinders[0], 0.0231),
        ('2.1 moment across cylinder 3', *cylinders[1], 0.0607),
        ("2.1 the box's axes", box_printed, box_true, upright.inertia, M2 * (A2**2 - C2**2) / 12),
        ('2.1 Steiner twice', b_of(twice), b_of(central), B, 0.0527, 1e-9),
        ('2.1 B11', k, b11, B[0, 0], 0.855180 - 0.498083),
        ('2.1 B12', b12, M2 * A2 / 2 - A1 * (M2 + M3), B[0, 1], 0.2845),
        ('2.1 B13', 0.0, A1 * M3 * sigma, B[0, 2], 0.01885),
        ('2.1 B33', b33, true_33, B[2, 2], 0.0967),
        ('2 B33 with m2', M2 * (A3**2 + H3**2 + R3**2), true_33, B[2, 2], 0.1605),
        ('2.1 T', kinetic, T, 0.5 * dq @ B @ dq, 0.203),
        ("2.1 T of the report's B", kinetic, 0.5 * dq @ own @ dq, 0.5 * dq @ own @ dq, 0.0624),
        ('2.2 U', potential, closed['U'], lifted, 1.849),
        ('3 slope of B11 by d2', 2 * M2 * D, 2 * energy, slope_2, 1.413, 1e-9),
        ('3 slope of B11 by theta3', slope_3, true_3, B_slope[0, 0], 0.01826, 1e-9),
        ('3 C symmetric', C.T, closed['C'], C, 1.746),
        ('3 c12', c12, energy * v1, C[0, 1], 0.565),
        ('3 c13', c13, true_13, C[0, 2], 0.0788, 1e-9),
        ('3 equations of motion', motion, closed_tau, tau, 1.229, 1e-13),
    ]


# --- the Panda notebook


def panda_notebook():
    q = np.array([0.4, -0.7, 0.5, -1.9, 0.3, 1.2, 0.8])
    dq = np.array([0.9, -0.6, 1.1, 0.7, -1.3, 0.5, 1.5])
    model = PinocchioModel(load('fer'))
    pose, center = model.frames(q)[2], np.array([0.02, 0.04, -0.07])
    r, lever = pose[:3, 3], pose[:3, :3] @ center
    mixed, space = (model.jacobian(q, 3, name) for name in ('LOCAL_WORLD_ALIGNED', 'WORLD'))
    v, omega = np.split(mixed @ dq, 2)
    v_center = v + np.cross(omega, lever)
    turned = mixed[:3] + np.cross(r, mixed[3:], axisb=0).T
    first, second, z = rpy(0.7, 0.0, 0.0), rpy(0.0, 0.9, 0.0), np.array([0.0, 0.0, 1.0])

    def center_at(time):
        frame = model.frames(q + time * dq)[2]
        return frame[:3, :3] @ center + frame[:3, 3], frame[:3, 3]

    (after, origin_after), (before, origin_before) = center_at(1e-6), center_at(-1e-6)
    relative = ((after - origin_after) - (before - origin_before)) / 2e-6
    twist, beyond = (space @ dq)[:3], np.cross(omega, r + lever)
    unturned, moved = np.cross(omega, center), np.cross(omega, lever)
    return [
        (
            'cell 7, reversed',
            second @ first @ z,
            first @ second @ z,
            (first @ second)[:, 2],
            0.244,
        ),
        ('cell 14', v, v - np.cross(omega, r), twist, 0.338),
        ('cell 18', v_center, v_center - beyond, twist, 0.394),
        ('cell 19, first entry', moved[0], 0.0, 0.0, 0.0562),
        ('cell 21, c unturned', unturned, moved, relative, 0.0445, 1e-9),
        ('cell 23, as the spatial Jacobian', mixed[:3], turned, space[:3], 0.529),
    ]


# --- the Exp[licit] derivation: Franka's inertia table


# m, m c, I (xx, xy, xz, yy, yz, zz) as printed.
TABLE = (
    (4.9707, (0.0193, 0.0103, -0.4654), (0.7470, -0.0002, 0.0086, 0.7503, 0.0201, 0.0092)),
    (0.6469, (-0.0020, -0.0186, 0.0023), (0.0085, -0.0040, 0.0103, 0.0281, 0.0008, 0.0265)),
    (3.2286, (0.0888, 0.1267, -0.2147), (0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182)),
    (3.5879, (-0.1908, 0.3746, 0.0985), (0.0677, 0.0277, 0.0039, 0.0324, -0.0016, 0.0776)),
    (1.2259, (-0.0147, 0.0503, -0.0471), (0.0394, -0.0015, -0.0046, 0.0315, 0.0022, 0.0109)),
    (1.6666, (0.1002, -0.0235, -0.0175), (0.0025, 0.0015, -0.0001, 0.0106, 0.0001, 0.0118)),
    (1.4655, (0.0004, -0.0031, 0.1453), (0.0308, 0.0004, -0.0007, 0.0284, -0.0005, 0.0067)),
)
# m, c and I about the centre of mass of Gaz et al. 2019, from the arm file.
GAZ = [
    (link['mass'], link['center_of_mass'], link['inertia'])
    for link in yaml.safe_load(Path(load('fer').file).read_text())['inertial_sets']['gaz2019'][
        'links'
    ]
]
ROUNDING = 5.0e-5  # of four printed decimals; the largest difference is 4.92e-5


PUBLISHED_TENSORS = (
    (0.7470, -0.0002, 0.0086, 0.7503, 0.0201, 0.0092),
    (0.0085, 0.0103, 0.0040, 0.0265, -0.0008, 0.0281),
    (0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182),
    (0.0677, -0.0039, 0.0277, 0.0776, 0.0016, 0.0324),
    (0.0394, -0.0015, -0.0046, 0.0315, 0.0022, 0.0109),
    (0.0025, 0.0001, 0.0015, 0.0118, -0.0001, 0.0106),
    (0.0308, -0.0004, 0.0007, 0.0284, -0.0005, 0.0067),
)
PUBLISHED_TWISTS = (
    (0, 0, 0, 0, 0, 1),
    (0.333, 0, 0, 0, -1, 0),
    (0, 0, 0, 0, 0, 1),
    (-0.649, 0, 0.0825, 0, 1, 0),
    (0, 0, 0, 0, 0, 1),
    (-1.033, 0, 0, 0, 1, 0),
    (0, 0.088, 0, 0, 0, -1),
)


def about_origin(mass, center, six):
    return six_from_tensor(tensor_from_six(six) + parallel_axis_term(mass, center))


def explicit_derivation():
    arm = load('fer', 'ledezma2021')
    links, gaz = arm.links, [LinkInertia.from_center_of_mass(*row) for row in GAZ]
    read = [LinkInertia.from_center_of_mass(m, np.array(mc) / m, six) for m, mc, six in TABLE]
    wrong = NewtonEulerModel(replace(arm, links=tuple(read)))
    with_hand = [*TABLE[6][2], *TABLE[6][1], TABLE[6][0]]
    flange = np.eye(4)
    flange[2, 3] = 0.107
    hands = [
        (gaz[6] + load_hand(name).expressed_in(flange)).parameters()
        for name in ('franka_hand', 'hand_ledezma2021')
    ]
    still = np.zeros(7)
    frames = NewtonEulerModel(load('fer')).frames(still)[:, :3, 3]
    standard = NewtonEulerModel(replace(load('fer'), convention=Convention.STANDARD))
    standard_7 = standard.frames(still)[6, :3, 3]
    mass, (cx, cy, _), six = GAZ[0]
    own_1, table_1 = about_origin(*GAZ[0]), about_origin(mass, (cx, cy, -0.4654 / 4.9707), six)
    taus = [
        one.inverse_dynamics(*sample_states(arm, 3000, seed=0))
        for one in (wrong, NewtonEulerModel(arm), ExponentialsModel(arm))
    ]
    bare = load('fer', 'ledezma2021', hand='none').links[6].mass
    margin = gaz[1].consistency_margin()
    rounded = LinkInertia(*TABLE[1][:2], tensor_from_six(TABLE[1][2])).consistency_margin()
    about_mass, about_frame = (
        [six_from_tensor(getattr(link, name)) for link in space_inertias(arm, still)]
        for name in ('about_center_of_mass', 'about_frame_origin')
    )
    flipped = np.array(PUBLISHED_TWISTS) * np.array([1, -1, 1, -1, 1, -1, 1])[:, None]
    twists, place = ExponentialsModel(load('fer')).space_twists, [0.088, 0.0, 0.926]
    rows = []
    for i, tensor_by, center_by in (
        (2, 5.4e-4, 1.01e-2),
        (3, 1.93e-2, 1.48e-1),
        (4, 4.93e-2, 2.70e-1),
        (5, 3.85e-3, 9.2e-3),
        (6, 6.37e-3, 4.0e-2),
    ):
        own, (m, c, tensor), first = links[i - 1], GAZ[i - 1], TABLE[i - 1][1]
        moved, rounding = about_origin(m, c, tensor), (ROUNDING + 1e-6) / m
        read_as = six_from_tensor(own.inertia)
        rows += [
            (f'tensor of link {i} about its centre', tensor, read_as, moved, tensor_by, ROUNDING),
            (f'c_{i} in the middle column', first, own.center_of_mass, c, center_by, rounding),
        ]
    return [
        *rows,
        ('c_z of link 1', own_1, table_1, TABLE[0][2], 3.24e-2, ROUNDING),
        ('torques of the printed reading', *taus, 2.53, 1e-12),
        ('hand on link 7', *hands, with_hand, 1.74e-2, ROUNDING),
        ('mass of link 7 alone', TABLE[6][0], bare, GAZ[6][0], 0.73, ROUNDING),
        ('definite tensor of link 2', rounded, margin, margin, margin + 1.8e-5),
        ('rows as standard ones', standard_7, frames[6], [0.088, 0.0, 0.926 + 0.107], 0.7),
        ('the flange', frames[6], frames[7], place, 0.107),
        ('tensors in space about the centre', about_mass, about_frame, PUBLISHED_TENSORS, 0.0493),
        ('directions of twists 2, 4 and 6', PUBLISHED_TWISTS, flipped, twists, 2.066),
    ]


@pytest.mark.parametrize(
    'source', [rpr_report, panda_notebook, explicit_derivation, gautier_khalil, kwon]
)
def test_a_misprint_holds_corrected_and_misses_as_printed(source):
    for item, printed, corrected, true, by, *atol in source():
        atol = atol[0] if atol else 1e-14
        np.testing.assert_allclose(corrected, true, rtol=0.0, atol=atol, err_msg=item)
        gap = np.abs(np.asarray(printed) - np.asarray(true)).max()
        np.testing.assert_allclose(gap, by, rtol=1e-2, atol=0.0, err_msg=item)
