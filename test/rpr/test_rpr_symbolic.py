# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR report's formulas in letters, against each other and against the numeric ones."""

import functools

import numpy as np
import pytest

from franka_dynamics.arm.bodies import Box

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.rpr import symbolic as rpr  # noqa: E402

FORMS = functools.cache(rpr.closed_forms)  # a second, on first use


def lagrange():
    """Return the equations of motion from the definitions of sections 2 and 3."""
    masses = (rpr.M1, rpr.M2, rpr.M3)
    inertia, potential = sp.zeros(3, 3), sp.Integer(0)
    for i, (mass, center, tensor) in enumerate(
        zip(masses, rpr.centers_of_mass(), rpr.central_tensors())
    ):
        linear, angular = rpr.partial_jacobians(center, i + 1)
        rotation = rpr.poses()[i + 1][:3, :3]
        inertia += mass * linear.T * linear + angular.T * rotation * tensor * rotation.T * angular
        potential += mass * rpr.G * center[2]
    inertia = inertia.applyfunc(rpr.reduced)
    return rpr.EquationsOfMotion(
        inertia,
        christoffel(inertia),
        rpr.by_joint(potential).T,
        sp.Rational(1, 2) * (rpr.RATES.T * inertia * rpr.RATES)[0],
        sp.expand(potential),
    )


def christoffel(inertia):
    """Return c_ij = sum of 1/2 (db_ij/dq_k + db_ik/dq_j - db_jk/dq_i) dq_k (section 3)."""
    slopes = [[rpr.by_joint(inertia[i, j]) for j in range(3)] for i in range(3)]
    return sp.Matrix(
        3,
        3,
        lambda i, j: rpr.reduced(
            sum(
                sp.Rational(1, 2)
                * (slopes[i][j][k] + slopes[i][k][j] - slopes[j][k][i])
                * rpr.RATES[k]
                for k in range(3)
            )
        ),
    )


def test_closed_forms_are_those_derived_from_the_definitions():
    derived = lagrange()
    for form, definition in (
        (FORMS().inertia, derived.inertia),
        (FORMS().coriolis, derived.coriolis),
        (FORMS().gravity, derived.gravity),
        (sp.Matrix([FORMS().kinetic]), sp.Matrix([derived.kinetic])),
        (sp.Matrix([FORMS().potential]), sp.Matrix([derived.potential])),
    ):
        assert (form - definition).applyfunc(rpr.reduced) == sp.zeros(*form.shape)


def test_newton_euler_in_letters_is_lagranges_torque():
    rotation = rpr.poses()[3][:3, :3]
    contact = (rotation * rpr.END_FORCE).col_join(rotation * rpr.END_MOMENT)
    torque = (
        FORMS().inertia * rpr.PUSHES
        + FORMS().coriolis * rpr.RATES
        + FORMS().gravity
        + rpr.geometric_jacobian().T * contact
    )
    rest = sp.Matrix(rpr.joint_torques()) - torque
    assert rest.applyfunc(rpr.reduced) == sp.zeros(3, 1)


def test_both_readings_of_the_box_are_boxes_of_that_size():
    mass, numbers = 1.1, {'a2': 0.3, 'b2': 0.05, 'c2': 0.06, 'm2': 1.1}
    for form, size in (
        (rpr.BOX_A2_ALONG_Z, (0.06, 0.05, 0.3)),
        (rpr.BOX_AS_PRINTED, (0.3, 0.05, 0.06)),
    ):
        value = float(form.subs({letter: numbers[str(letter)] for letter in form.free_symbols}))
        expected = Box(size=size, mass=mass).link().inertia[0, 0]
        np.testing.assert_allclose(value, expected, rtol=1e-14, atol=0.0)


def test_expressions_equal_by_pythagoras_reduce_to_the_same():
    assert rpr.reduced(rpr.S1**4 + rpr.C1**2 * (1 + rpr.S1**2)) == 1
    assert rpr.reduced(rpr.C3**3 - rpr.C3 + rpr.C3 * rpr.S3**2) == 0
