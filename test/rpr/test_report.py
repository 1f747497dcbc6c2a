# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR report's formulas against the models; LaTeX whose groups close."""

import math

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.rpr.kinematics import RprKinematics

pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')
from franka_dynamics.rpr.report import as_text, rpr_report

ATOL_NM = 1e-12  # torques up to 100 N m; 2e-14 was measured
RPR = load('rpr')


def symbols():
    """Return the lengths, masses and sides of the solids that the arm file describes."""
    lengths, links = RprKinematics.from_description(RPR), RPR.links
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
    text = compile(as_text(rpr_report()), 'rpr_report.py', 'exec')
    model, box = PinocchioModel(RPR), np.diag(RPR.links[1].inertia_at_center_of_mass)
    # At these positions w and C3 are positive.
    bounds = [-3.0, -0.2, -1.4], [3.0, 0.3, 1.4]
    for q, dq, _ in zip(*sample_states(RPR, 5, seed=0)):
        q = np.clip(q, *bounds)
        frames, jacobian, mass = model.frames(q), model.jacobian(q), model.mass_matrix(q)
        found = symbols() | dict(zip(('px', 'py', 'pz'), frames[2][:3, 3]))
        found |= {f'q{i + 1}': q[i] for i in range(3)} | {f'dq{i + 1}': dq[i] for i in range(3)}
        exec(text, found)
        expected = {
            **{'theta1': q[0], 'd2': q[1], 'theta3': q[2]},
            **{'S3': math.sin(q[2]), 'C3': math.cos(q[2])},
            **{'I2x': box[0], 'I2x_printed': box[2]},
            **{'p_3': frames[2][:3, 3], 'J_A': jacobian[:3], 'J_G': jacobian},
            **{f'B{i + 1}{j + 1}': mass[i, j] for i in range(3) for j in range(i, 3)},
            **{'T': model.kinetic_energy(q, dq), 'U': model.potential_energy(q)},
            **{'C': model.coriolis_matrix(q, dq), 'g': model.gravity(q)},
        }
        for i, link in enumerate(RPR.links):
            expected[f'T_b{i + 1}'] = frames[i]
            expected[f'p_l{i + 1}'] = (frames[i] @ [*link.center_of_mass, 1.0])[:3]
            expected[f'I_l{i + 1}'] = link.inertia_at_center_of_mass
        for name, value in expected.items():
            np.testing.assert_allclose(
                np.squeeze(found[name]), value, rtol=0.0, atol=ATOL_NM, err_msg=name
            )
