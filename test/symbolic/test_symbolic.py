# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Symbolic kinematics, M, C, g and the RPR report against the models; text and LaTeX read back."""

import ast
from dataclasses import replace
import functools
import math
import re

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.dynamics.model import REFERENCE_FRAMES
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import FrameError
from franka_dynamics.rpr.kinematics import RprKinematics
from franka_dynamics.symbolic import derivations, rendering
from franka_dynamics.symbolic.chain import joint_symbol, Kinematics
from franka_dynamics.symbolic.derivations import kinematics
from franka_dynamics.symbolic.rendering import as_latex, as_text, Formula, Section

from ..agreement import refuses
from ..arms import random_arm

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')


ATOL = 1e-14  # lengths below 2 m, some twenty products
FER = load('fer')
FORMS = Kinematics(FER)
# Sympy takes longer to write an expression than to find it again.
written = functools.cache(str)


def evaluated(expression, forms, q, description=None):
    """Return a symbolic matrix evaluated at joint positions."""
    numbers = dict(forms.values)
    for i, link in enumerate(forms.links[: forms.n]):
        numbers |= {joint_symbol(i + 1): q[i]}
        if link.slide == 0:  # revolute
            numbers |= {link.sine: np.sin(q[i]), link.cosine: np.cos(q[i])}
        if description is not None:
            center = zip('xyz', description.links[i].center_of_mass)
            numbers |= {f'{axis}c{i + 1}': part for axis, part in center}
    # Run as the text that `derive` prints; sympy's own substitution takes seconds.
    names = {str(letter): value for letter, value in numbers.items()}
    entries = [eval(written(entry), names) for entry in expression]
    return np.reshape(entries, expression.shape).astype(float)


def test_given_the_fer_when_derived_then_r_3_is_the_notebooks():
    s1, c1, s2, c2, y3, z1 = sp.symbols('s1 c1 s2 c2 y3 z1', real=True)
    expected = sp.Matrix([-y3 * s2 * c1, -y3 * s1 * s2, z1 - y3 * c2])
    assert (FORMS.position(3) - expected).expand() == sp.zeros(3, 1)


def test_symbols_of_the_fer_are_the_notebooks_with_their_numbers():
    lengths = {'z1': 0.333, 'y3': -0.316, 'x4': 0.0825, 'x5': -0.0825}
    lengths |= {'y5': 0.384, 'x7': 0.088, 'z8': 0.107}
    assert {str(letter): value for letter, value in FORMS.values.items()} == lengths


@functools.cache
def drawn_forms(seed):
    """Return a random arm and its symbolic kinematics."""
    # Both conventions, constant theta on every joint, slides among them.
    convention = tuple(Convention)[seed % 2]
    arm = random_arm(np.random.default_rng(seed), joints=3, convention=convention)
    arm = replace(arm, base=np.eye(4))
    return arm, Kinematics(arm)


@pytest.mark.parametrize('reference', REFERENCE_FRAMES)
@pytest.mark.parametrize('seed', range(2))
def test_jacobians_of_any_rows_in_any_frame_are_the_recursions(seed, reference):
    arm, forms = drawn_forms(seed)
    model = NewtonEulerModel(arm)
    q = np.random.default_rng(seed + 50).uniform(-2.0, 2.0, 3)
    for frame in range(1, 5):
        found = evaluated(forms.jacobian(frame, reference), forms, q)
        expected = model.jacobian(q, frame, reference)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


def test_frames_of_standard_rows_are_the_rows_own():
    arm, forms = drawn_forms(1)
    q = np.random.default_rng(2).uniform(-0.5, 0.5, 3)
    frames = [np.eye(4), *NewtonEulerModel(arm).frames(q)]
    for i in range(1, 5):
        step = evaluated(forms.link_transform(i), forms, q)
        np.testing.assert_allclose(frames[i - 1] @ step, frames[i], rtol=0.0, atol=ATOL)
        pose = evaluated(forms.pose(i), forms, q)
        np.testing.assert_allclose(pose, frames[i], rtol=0.0, atol=ATOL)
    flange = evaluated(forms.axis(4), forms, q)[:, 0]
    np.testing.assert_allclose(flange, frames[4][:3, 2], rtol=0.0, atol=ATOL)
    for link in range(1, 4):
        jacobian = evaluated(forms.center_of_mass_jacobian(link), forms, q, description=arm)
        expected = ExponentialsModel(arm).center_of_mass_jacobians(q)[link - 1]
        np.testing.assert_allclose(jacobian, expected, rtol=0.0, atol=ATOL)


def test_the_rpr_arms_slide_has_the_reports_letter_for_its_constant_part():
    # d2 is the joint's position in the report, d2 = d2bar at q2 = 0 in the rows.
    assert sp.Symbol('d2bar', real=True) in Kinematics(load('rpr')).values


def test_an_unknown_reference_frame_is_refused():
    with refuses(FrameError, "'BODY'"):
        kinematics(load('rpr'), 'BODY')


ATOL_NM = 1e-12  # torques up to 100 N m; 2e-14 was measured


def run_text(text, q, dq):
    """Execute printed equations at a state; return M, C and g."""
    n = len(q)
    names = {f'q{i + 1}': q[i] for i in range(n)} | {f'dq{i + 1}': dq[i] for i in range(n)}
    exec(text, names)
    each = range(1, n + 1)
    M, C = (np.array([[names[f'{letter}{i}{j}'] for j in each] for i in each]) for letter in 'MC')
    return M, C, np.array([names[f'g{i}'] for i in each])


# Slides, a tilted base, oblique twists and rotors.
FIVE = [
    random_arm(np.random.default_rng(seed), joints=5, convention=convention)
    for seed, convention in enumerate(Convention)
]


@pytest.mark.parametrize('arm', [load('fer', hand='franka_hand'), load('fr3'), *FIVE])
def test_an_arms_printed_equations_agree_with_the_recursion(arm):
    text, model = as_text(derivations.equations(arm)), NewtonEulerModel(arm)
    for q, dq in np.random.default_rng(0).uniform(-1.5, 1.5, (5, 2, arm.n)):
        expected = model.mass_matrix(q), model.coriolis_matrix(q, dq), model.gravity(q)
        for found, reference in zip(run_text(text, q, dq), expected):
            np.testing.assert_allclose(found, reference, rtol=0.0, atol=ATOL_NM)


a, b, c, d = sp.symbols('a b c d')


def test_a_wide_matrix_reads_back_from_its_text():
    long = sum(sp.symbols('a0:40'))
    matrix = sp.Matrix([[long, 1], [2, long]])
    text = as_text([Section('wide', ('a sentence',), (Formula('M', matrix),))])
    read = sp.sympify(ast.unparse(ast.parse(text).body[0].value))
    assert sp.Matrix([list(row) for row in read]) == matrix


rpr_report = functools.cache(derivations.rpr_report)
REPORTS = {
    'step_by_step': lambda: derivations.step_by_step(load('rpr')),
    'rpr': rpr_report,
}


@pytest.mark.parametrize('report', REPORTS)
def test_groups_environments_and_tags_of_a_derivation_close(report):
    sections = REPORTS[report]()
    latex, opened = as_latex(sections), []
    for kind, environment in re.findall(r'\\(begin|end)\{([a-z*0-9]+)\}', latex):
        if kind == 'begin':
            opened.append(environment)
        else:
            assert opened.pop() == environment
    assert report == 'rpr' or r'axes of \{0\}' in latex
    plain = latex.replace(r'\{', '').replace(r'\}', '')
    assert not opened and plain.count('{') == plain.count('}')
    assert latex.rstrip().endswith(r'\end{document}')
    assert latex.count(r'\bigl(') == latex.count(r'\bigr)')


@pytest.mark.parametrize(
    'expression',
    [
        a + b * c + a * d - b * d - 2 * a * b * c + d**3,
        -(a + b * c - d) * (c - d * a + b * c + d * b - a * c + 3),
        (a + b * c + a * d - b * d - 2 * a * b * c) ** 2 / 2 - d,
    ],
)
def test_a_long_expression_goes_on_below_in_short_lines_that_say_the_same(expression, monkeypatch):
    monkeypatch.setattr(rendering, 'MAX_LATEX_LINE_WIDTH', 20)
    parts = rendering.split_into_lines(expression)
    assert len(parts) > 1
    assert sp.expand(sp.Add(*parts) - expression) == 0
    latex = as_latex([Section('', (), (Formula('x', expression),))])
    assert latex.count(r'&\quad ') == len(parts) - 1


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
