# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Symbolic kinematics against the numeric formulations, entry by entry."""

from dataclasses import replace
import functools

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.dynamics.model import REFERENCE_FRAMES
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.errors import FrameError

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.symbolic.chain import Kinematics, position  # noqa: E402
from franka_dynamics.symbolic.derivations import kinematics  # noqa: E402

from ..arms import random_arm  # noqa: E402

ATOL = 1e-14  # lengths below 2 m, some twenty products
FER = load('fer')
FORMS = Kinematics(FER)
# Sympy takes longer to write an expression than to find it again.
written = functools.cache(str)


def evaluated(expression, forms, q, description=None):
    """Return a symbolic matrix evaluated at joint positions."""
    numbers = dict(forms.values)
    for i, link in enumerate(forms.links[: forms.n]):
        numbers |= {position(i + 1): q[i]}
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
        step = evaluated(forms.step(i), forms, q)
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


def test_formulas_are_said_to_be_in_the_space_frame_only_where_the_base_is_at_it():
    # The RPR arm's frame {0} is above {S}; its formulas leave the base out, and say so.
    high, at = (kinematics(arm) for arm in (load('rpr'), replace(load('rpr'), base=np.eye(4))))
    assert high[1:] == at[1:]
    said = [''.join(sections[0].sentences) for sections in (high, at)]
    assert 'in {S}.' not in said[0] and '{0}' in said[0]
    assert 'in {S}.' in said[1] and '{0}' not in said[1]


def test_an_unknown_reference_frame_is_refused():
    with pytest.raises(FrameError, match="'BODY'"):
        kinematics(load('rpr'), 'BODY')
