# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Misprints of Gautier and Khalil 1990, with true values by independent calculations."""

import numpy as np

from franka_dynamics.arm import ArmDescription, Convention, DHRow, Joint, JointKind, load
from franka_dynamics.arm.inertia import six_from_tensor
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.regressor import parameter_names, parameter_vector
from franka_dynamics.identification.base_parameters import (
    base_parameters,
    max_base_parameter_count,
)
from franka_dynamics.identification.direct_method import (
    energy_increment,
    energy_transform,
    modified_dh_rows,
)
from franka_dynamics.identification.energy_regressors import energy_regressors

TILTED = (3.0, -5.0, -7.0)
Q, DQ = np.array([0.4, -0.7, 0.5, 0.3, 0.9]), np.array([0.9, -0.6, 1.1, 0.7, -1.3])


def askew(last):
    """Return an arm of five joints with skew axes, the last joint of a given kind."""
    entries = np.random.default_rng(0).uniform((0.5, 0.3, 0.5, 0.9), (1.0, 0.6, 1.0, 1.2), (5, 4))
    joints = tuple(
        Joint(f'j{i}', kind, DHRow(a=a, alpha=alpha, d=d, theta=theta))
        for i, (kind, (alpha, a, d, theta)) in enumerate(
            zip((*[JointKind.REVOLUTE] * 4, last), entries)
        )
    )
    return ArmDescription('askew', Convention.MODIFIED, joints, load('scemi').links[:5])


def energies(arm):
    """Return DE of links 4 and 5, and their body twists as (velocity, angular velocity)."""
    DE, _ = energy_regressors(arm, Q, DQ)
    model = NewtonEulerModel(arm)
    twists = [
        [pose[:3, :3].T @ part for part in np.split(twist, 2)]
        for pose, twist in zip(model.frames(Q), model.link_twists(Q, DQ))
    ]
    return DE.reshape(5, 10)[3:], twists[3:]


def gautier_khalil():
    turns, slides = askew(JointKind.REVOLUTE), askew(JointKind.PRISMATIC)
    (before, behind), ((velocity_4, omega_4), (v, w)) = energies(turns)
    row = modified_dh_rows(turns)[4]
    angle = turns.joints[4].row.theta + Q[4]
    at = row._replace(ct=np.cos(angle), st=np.sin(angle))
    # dq_5 multiplies both brackets of f; in print only the first.
    still, both = np.zeros(3), energy_increment(at, omega_4, velocity_4, DQ[4], True)
    second = energy_increment(at, still, velocity_4, 1.0, True) - energy_increment(
        at, still, still, 1.0, True
    )
    position = slides.joints[4].row.theta, slides.joints[4].row.d + Q[4]
    pose = slides.joint_transforms(Q)[4]
    found = {
        kind: base_parameters(arm, TILTED) for kind, arm in (('turn', turns), ('slide', slides))
    }

    def part(kind, name, member):
        map_ = found[kind]
        return map_.matrix[map_.names.index(name), map_.standard_names.index(member)]

    slide = slides.joints[4].row
    c, s, ca, sa = (
        function(angle) for angle in (slide.theta, slide.alpha) for function in (np.cos, np.sin)
    )
    A = slide.transform(Convention.MODIFIED)[:3, :3]
    tensor = turns.links[4].inertia
    moved = turns.links[4].expressed_in(np.block([[A, np.zeros((3, 1))], [np.zeros(3), 1.0]]))
    scemi, X = load('scemi'), parameter_vector(load('scemi'))
    X = dict(zip(parameter_names(6), X))
    sigma = 0.5**2 * sum(X[f'm_{i}'] for i in (3, 4, 5, 6))
    regrouped = base_parameters(scemi)
    values = dict(zip(regrouped.names, regrouped.values()))
    one = ArmDescription(
        'slide', Convention.MODIFIED, (Joint('j', JointKind.PRISMATIC, DHRow()),), scemi.links[:1]
    )
    # d of the row: the origin's component along z, to which a does not contribute.
    along = float(pose[:3, 3] @ pose[:3, 2])
    rates = [w[2] * v[1], w[0] * v[2], w[1] * v[0]], [w[1] * v[2], w[2] * v[0], w[0] * v[1]]
    rest = behind - energy_transform(at) @ before
    xx = [part('turn', name, 'XX_5') for name in ('XXR_5', 'XXR_4')]
    slides_xx = [part('slide', name, 'XX_5') for name in ('XYR_4', 'XZR_4', 'YZR_4')]
    printed_21 = [c * s * sa, -c * s * sa, -(s**2) * ca * sa]
    true_21 = [c * s * ca, c * s * sa, s**2 * ca * sa]
    tensors = [six_from_tensor(one) for one in (A @ tensor @ A, A @ tensor @ A.T, moved.inertia)]
    zz, xx_2 = X['ZZ_1'] + X['YY_2'] + sigma, X['XX_2'] - X['YY_2'] - sigma
    printed_9, true_9 = [zz, xx_2 + X['YY_3']], [zz + X['YY_3'], xx_2]
    found_9 = [values['ZZR_1'], values['XXR_2']]
    return [
        ('(2) of a prismatic joint', sum(position), position[1], along, 1.027),
        ('DE_7 to DE_9', np.prod(rates, axis=0), np.subtract(*rates), behind[6:9], 0.7143),
        ('f^j', both + (1.0 - DQ[4]) * second, both, rest, 2.851, 1e-13),
        ('(20), first line: XX_j in XXR_j, XXR_{j-1}', [0.0, 1.0], [1.0, 0.0], xx, 1.0, 1e-12),
        ('(21), XYR, XZR and YZR', printed_21, true_21, slides_xx, 0.7108, 1e-12),
        ('(22)', *tensors, 0.008572),
        # 7 n_r + 4 n_t - 3 - sigma_1, with sigma = 1 for a prismatic joint.
        (
            '(23) of one slide',
            4 - 3 - 1,
            max_base_parameter_count(one),
            len(base_parameters(one)),
            1.0,
        ),
        ('section 9, link 2', printed_9, true_9, found_9, 0.05765, 1e-13),
    ]
