# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Each line of the RPR report in symbols, executed, against the models' numbers."""

import math

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.rpr.kinematics import RprKinematics

ARM = load('rpr')
MODEL = PinocchioModel(ARM)
ATOL = 1e-12  # energies of some 100 J; measured 2e-14


def symbols():
    """Return the lengths, masses and sides of the solids that the arm file describes."""
    lengths, links = RprKinematics.from_description(ARM), ARM.links
    tensors = [np.diag(link.inertia_at_center_of_mass) for link in links]
    names = {'g': 9.81, 'I2y': tensors[1][1], 'I2z': tensors[1][2]}
    names |= {name: getattr(lengths, name) for name in ('d0', 'a1', 'a3', 'd2bar')}
    m1, m2, m3 = names['m1'], names['m2'], names['m3'] = [link.mass for link in links]
    h1 = names['h1'] = 2.0 * links[0].center_of_mass[0]
    a2 = names['a2'] = 2.0 * links[1].center_of_mass[2]
    names['h3'] = -2.0 * links[2].center_of_mass[1]
    # Radii and sides follow from the moments of inertia of the solids.
    names['r1'] = math.sqrt((12.0 * tensors[0][2] / m1 - h1**2) / 3.0)
    names['r3'] = math.sqrt(2.0 * tensors[2][1] / m3)
    names['b2'] = math.sqrt(12.0 * tensors[1][0] / m2 - a2**2)
    names['c2'] = math.sqrt(12.0 * tensors[1][2] / m2 - names['b2'] ** 2)
    return names


def test_every_line_of_the_report_is_what_the_formulations_say():
    from franka_dynamics.symbolic import derivations
    from franka_dynamics.symbolic.rendering import as_text

    text = compile(as_text(derivations.rpr_report()), 'rpr_report.py', 'exec')
    # At these positions w and C3 are positive.
    bounds = [-3.0, -0.2, -1.4], [3.0, 0.3, 1.4]
    for q, dq, _ in zip(*sample_states(ARM, 5, seed=0)):
        q = np.clip(q, *bounds)
        frames, jacobian, mass = MODEL.frames(q), MODEL.jacobian(q), MODEL.mass_matrix(q)
        found = symbols() | dict(zip(('px', 'py', 'pz'), frames[2][:3, 3]))
        found |= {f'q{i + 1}': q[i] for i in range(3)} | {f'dq{i + 1}': dq[i] for i in range(3)}
        exec(text, found)
        expected = {
            **{'theta1': q[0], 'd2': q[1], 'theta3': q[2]},
            **{'S3': math.sin(q[2]), 'C3': math.cos(q[2])},
            **{'I2x': ARM.links[1].inertia_at_center_of_mass[0, 0]},
            **{'p_3': frames[2][:3, 3], 'J_A': jacobian[:3], 'J_G': jacobian},
            **{f'B{i + 1}{j + 1}': mass[i, j] for i in range(3) for j in range(i, 3)},
            **{'T': MODEL.kinetic_energy(q, dq), 'U': MODEL.potential_energy(q)},
            **{'C': MODEL.coriolis_matrix(q, dq), 'g': MODEL.gravity(q)},
        }
        for i, link in enumerate(ARM.links):
            expected[f'T_b{i + 1}'] = frames[i]
            expected[f'p_l{i + 1}'] = (frames[i] @ [*link.center_of_mass, 1.0])[:3]
            expected[f'I_l{i + 1}'] = link.inertia_at_center_of_mass
        for name, value in expected.items():
            np.testing.assert_allclose(
                np.squeeze(found[name]), value, rtol=0.0, atol=ATOL, err_msg=name
            )
