# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Each line of the RPR report of `arm derive`, executed, against the models' numbers."""

import math

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.rpr.dynamics import RprDynamics

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic import derivations  # noqa: E402
from franka_dynamics.symbolic.rendering import as_text, Section  # noqa: E402

ARM = load('rpr')
MODEL = PinocchioModel(ARM)
CLOSED = RprDynamics.from_description(ARM)
ATOL = 1e-12  # energies of some 100 J; measured 2e-14


def letters(q, dq, wrench):
    """Return the values of the symbols in the report at a state."""
    masses, lengths = CLOSED.masses, CLOSED.kinematics
    box = np.diag(ARM.links[1].inertia_at_center_of_mass)
    # Symbols that the report itself defines, such as S1 and D, are left out.
    names = {'g': 9.81, 'I2y': box[1], 'I2z': box[2]}
    names |= {name: getattr(lengths, name) for name in ('d0', 'a1', 'a3', 'd2bar')}
    names |= {name: getattr(masses, name) for name in ('m1', 'm2', 'm3')}
    names |= {'h1': 2.0 * masses.k1, 'a2': 2.0 * masses.k2, 'h3': 2.0 * masses.k3}
    # Radii and sides follow from the moments of inertia of the solids.
    names['r1'] = math.sqrt((12.0 * masses.i1z / masses.m1 - names['h1'] ** 2) / 3.0)
    names['r3'] = math.sqrt(2.0 * masses.i3y / masses.m3)
    names['b2'] = math.sqrt(12.0 * masses.i2x / masses.m2 - names['a2'] ** 2)
    names['c2'] = math.sqrt(12.0 * box[2] / masses.m2 - names['b2'] ** 2)
    for i in range(3):
        names |= {f'q{i + 1}': q[i], f'dq{i + 1}': dq[i]}
        names |= {f'Fv{i + 1}': ARM.friction.viscous[i], f'Fs{i + 1}': ARM.friction.coulomb[i]}
    names |= dict(zip(('hx', 'hy', 'hz', 'hnx', 'hny', 'hnz'), wrench))
    names |= dict(zip(('px', 'py', 'pz'), MODEL.frames(q)[2][:3, 3]))
    return names


FORMULAS = [formula for section in derivations.rpr_report() for formula in section.formulas]
LINES = [(formula, as_text([Section('', (), (formula,))])) for formula in FORMULAS]
FUNCTIONS = {name: getattr(math, name) for name in ('sin', 'cos', 'sqrt', 'atan2')}


def written(q, dq, wrench):
    """Return the values that the report's lines, executed in order, assign at a state."""
    names, found = {**letters(q, dq, wrench), **FUNCTIONS, 'sign': np.sign}, {}
    for formula, text in LINES:
        own = dict(names)
        exec(text, own)
        found[formula.name] = own[formula.name]
        if isinstance(formula.value, sp.Expr):  # g is the gravity constant and a vector's name
            names[formula.name] = own[formula.name]
    return found


def test_every_line_of_the_report_is_what_the_formulations_say():
    rng = np.random.default_rng(0)
    for _ in range(5):
        # w and C3 are positive at these positions; at these speeds the tanh of Coulomb friction
        # is 1.
        q = rng.uniform([-3.0, -0.2, -1.4], [3.0, 0.3, 1.4])
        dq = np.copysign(rng.uniform(0.3, 2.0, 3), rng.normal(size=3))
        wrench = rng.normal(size=6)
        found = written(q, dq, wrench)
        frames, jacobian = MODEL.frames(q), MODEL.jacobian(q)
        mass = MODEL.mass_matrix(q)
        expected = {
            **{'theta1': q[0], 'd2': q[1], 'theta3': q[2]},
            **{'S3': math.sin(q[2]), 'C3': math.cos(q[2]), 'I2x': CLOSED.masses.i2x},
            **{'p_3': frames[2][:3, 3], 'J_A': jacobian[:3], 'J_G': jacobian},
            **{f'B{i + 1}{j + 1}': mass[i, j] for i in range(3) for j in range(i, 3)},
            **{'T': MODEL.kinetic_energy(q, dq), 'U': MODEL.potential_energy(q)},
            **{'C': MODEL.coriolis_matrix(q, dq), 'g': MODEL.gravity(q)},
            **{'F': ARM.friction.torque(dq), 'J_GT_h': jacobian.T @ wrench},
        }
        for i, link in enumerate(ARM.links):
            expected[f'T_b{i + 1}'] = frames[i]
            expected[f'p_l{i + 1}'] = (frames[i] @ [*link.center_of_mass, 1.0])[:3]
            expected[f'I_l{i + 1}'] = link.inertia_at_center_of_mass
        for name, value in expected.items():
            np.testing.assert_allclose(
                np.squeeze(found[name]), value, rtol=0.0, atol=ATOL, err_msg=name
            )
