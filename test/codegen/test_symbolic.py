# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations as SymPy expressions, against Lagrange's equations derived here in symbols."""

import numpy as np
import pytest
import yaml

import franka_dynamics as fd

sp = pytest.importorskip('sympy', reason='equations in symbols need sympy')

# Three links of these lengths [m], uniform rods with these masses [kg], from base to tip.
LENGTHS = (sp.Integer(1), sp.Rational(4, 5), sp.Rational(1, 2))
MASSES = (3, 2, 1)
PLANAR = (0.0, 0.0, 0.0)
ANTHROPOMORPHIC = (0.0, np.pi / 2, 0.0)


def rods(alphas, path):
    """Write and return a 3R arm of rods along x; links of the second form begin at one point."""
    offsets = [
        0.0,
        *(0.0 if alpha else float(x) for alpha, x in zip(alphas[1:], LENGTHS)),
    ]
    rows = [{'a': a, 'alpha': alpha} for a, alpha in zip(offsets, alphas)]
    links = []
    for mass, length in zip(MASSES, LENGTHS):
        moment = float(mass * length**2 / 12)
        links.append(
            {
                'mass': float(mass),
                'center_of_mass': [float(length / 2), 0.0, 0.0],
                'inertia': [0.0, 0.0, 0.0, moment, 0.0, moment],
            }
        )
    joints = [{'name': f'j{k}', 'kind': 'revolute', 'dh': row} for k, row in enumerate(rows, 1)]
    inertias = {'source': 'rods', 'inertia_about': 'center_of_mass', 'links': links}
    content = {
        'name': 'rods',
        'convention': 'modified',
        'joints': joints,
        'default_set': 'rods',
        'inertial_sets': {'rods': inertias},
    }
    path.write_text(yaml.safe_dump(content), encoding='utf-8')
    return fd.load(path)


def lagrange(alphas, gravity):
    """Return symbols, M, C dq and g of the rods, from their kinetic and potential energies."""
    q = sp.symbols('q_1:4', real=True)
    dq = sp.symbols('dq_1:4', real=True)
    turn = sp.eye(3)
    origin = sp.zeros(3, 1)
    kinetic = potential = sp.Integer(0)
    rate = sp.zeros(3, 1)
    for k in range(3):
        alpha = sp.nsimplify(alphas[k] / np.pi) * sp.pi
        if k:
            along = 0 if alphas[k] else LENGTHS[k - 1]
            origin = origin + turn * sp.Matrix([along, 0, 0])
        c = sp.cos(alpha)
        s = sp.sin(alpha)
        turn = turn * sp.Matrix([[1, 0, 0], [0, c, -s], [0, s, c]])
        c = sp.cos(q[k])
        s = sp.sin(q[k])
        turn = turn * sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        rate = rate + turn[:, 2] * dq[k]
        center = origin + turn * sp.Matrix([LENGTHS[k] / 2, 0, 0])
        speed = sum((center.diff(q[i]) * dq[i] for i in range(3)), sp.zeros(3, 1))
        across = rate - turn[:, 0] * turn[:, 0].dot(rate)  # a rod does not turn about itself
        moment = sp.Rational(MASSES[k]) * LENGTHS[k] ** 2 / 12
        kinetic += MASSES[k] * speed.dot(speed) / 2 + moment * across.dot(across) / 2
        potential -= MASSES[k] * sp.Matrix(gravity).dot(center)
    M = sp.Matrix(3, 3, lambda i, j: kinetic.diff(dq[i], dq[j]))
    momentum = M * sp.Matrix(dq)
    change = sum((momentum.diff(q[i]) * dq[i] for i in range(3)), sp.zeros(3, 1))
    coriolis = change - sp.Matrix([kinetic.diff(one) for one in q])
    return M, coriolis, sp.Matrix([potential.diff(one) for one in q])


@pytest.mark.parametrize('alphas', [PLANAR, ANTHROPOMORPHIC], ids=['planar', 'anthropomorphic'])
def test_formulas_of_three_joints_are_lagranges(alphas, tmp_path):
    arm = rods(alphas, tmp_path / 'rods.yaml')
    gravity = (0, -10, 0)
    for name, expected in zip(
        ('mass_matrix', 'coriolis', 'gravity'), lagrange(alphas, gravity), strict=True
    ):
        found = fd.sympy_expressions(fd.customised_equations(arm, name, gravity))
        assert found.shape == expected.shape
        # Coefficients are fractions, or decimals of twelve digits.
        symbols = sorted((found - expected).free_symbols, key=str)
        both = sp.lambdify(symbols, [found, expected], 'numpy')
        rng = np.random.default_rng(0)
        for state in rng.uniform(-3.0, 3.0, (20, len(symbols))):
            np.testing.assert_allclose(*both(*state), rtol=0.0, atol=1e-9, err_msg=name)


def test_the_textbooks_two_link_arm_is_printed_as_in_the_book(tmp_path):
    arm = rods(PLANAR, tmp_path / 'rods.yaml')
    q_2, q_3 = sp.symbols('q_2 q_3', real=True)
    M = fd.sympy_expressions(fd.customised_equations(arm, 'mass_matrix'))
    # Of the last two joints: m l^2/3, and m l L cos(q)/2 beside it.
    assert M[2, 2] == sp.Rational(1, 12)
    assert M[1, 2] == sp.cos(q_3) / 5 + sp.Rational(1, 12)
    assert M[0, 2] == sp.cos(q_2 + q_3) / 4 + sp.cos(q_3) / 5 + sp.Rational(1, 12)


def test_symbols_of_parameters_are_those_of_parameter_names():
    arm = fd.load('rpr')
    q_3 = sp.Symbol('q_3', real=True)
    equations = fd.customised_equations(arm, 'mass_matrix', parameters='run_time')
    M = fd.sympy_expressions(equations)
    x, y, m = sp.symbols('mX_3 mY_3 m_3', real=True)
    away = sp.Rational(2, 5)  # m
    assert sp.expand(M[1, 2] + (x + away * m) * sp.sin(q_3) + y * sp.cos(q_3)) == 0
    known = {f'q_{k}' for k in range(1, 4)} | {*fd.parameter_names(arm, rotor_inertia=True)}
    assert {str(one) for one in M.free_symbols} <= known
    # Not simplified it is the same, in the numbers of the model.
    plain = fd.sympy_expressions(equations, simplify=False)
    values = dict(zip(fd.parameter_names(arm), fd.parameter_vector(arm)))
    values |= {f'Ia_{k}': joint.rotor_inertia for k, joint in enumerate(arm.joints, 1)}
    values |= {'q_1': 0.3, 'q_2': 0.2, 'q_3': -0.7}
    values = {sp.Symbol(name, real=True): value for name, value in values.items()}
    expected = fd.NewtonEulerModel(arm).mass_matrix([0.3, 0.2, -0.7])
    for one in (M, plain):
        numbers = np.array(one.subs(values).tolist(), dtype=float)
        np.testing.assert_allclose(numbers, expected, rtol=0.0, atol=1e-12)
