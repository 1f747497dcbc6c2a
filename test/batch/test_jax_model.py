# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""jit, vmap and grad over the kernels against Pinocchio, finite differences and derivatives."""

import numpy as np
import pytest

pytest.importorskip('jax', reason='the [jax] extra is not installed')

import jax

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.jax_model import JaxModel
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import differentiate
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError

from .quantities import ARGUMENTS

ATOL = 1e-10
ARM = load('fer')


@pytest.fixture(scope='module')
def model():
    jax.config.update('jax_enable_x64', True)
    return JaxModel(ARM)


@pytest.mark.parametrize('name', ['inverse_dynamics', 'coriolis', 'gravity', 'mass_matrix'])
def test_compiled_values_are_pinocchios(model, name):
    states = sample_states(ARM, 5)[: ARGUMENTS[name]]
    found = jax.jit(getattr(model, name))(*states)
    expected = getattr(PinocchioModel(ARM), name)(*states)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('name', ARGUMENTS)
def test_derivatives_are_the_finite_differences(model, name):
    from jax.test_util import check_grads

    states = sample_states(ARM, 3)[: ARGUMENTS[name]]
    # jax.test_util differences by 1e-6; the largest slope is some 1e3 per rad.
    check_grads(getattr(model, name), states, order=1, modes=['fwd', 'rev'], rtol=1e-5, eps=1e-6)


def test_mapped_slopes_are_those_of_the_recursion(model):
    states = sample_states(ARM, 4)
    slopes = jax.jit(jax.vmap(jax.jacrev(model.inverse_dynamics, argnums=(0, 1, 2))))(*states)
    expected = differentiate(BodyTree.from_description(ARM), *states).tau
    for ours, theirs in zip(slopes, (expected.by_q, expected.by_dq, expected.by_ddq)):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=ATOL)


def test_an_argument_of_another_shape_is_refused(model):
    with pytest.raises(JointVectorError, match=r'dq has shape \(3, 6\), expected \(\.\.\., 7\)'):
        model.coriolis(np.zeros((3, 7)), np.zeros((3, 6)))


def test_float32_stays_float32_within_bounds_in_jax(model):
    states = [x.astype(np.float32) for x in sample_states(ARM, 200)]
    exact = [x.astype(np.float64) for x in states]
    found, expected = (jax.jit(model.inverse_dynamics)(*given) for given in (states, exact))
    assert found.dtype == np.float32

    def total(*given):
        return (model.inverse_dynamics(*given) ** 2).sum()

    ours, theirs = (jax.grad(total, argnums=(0, 1, 2))(*given) for given in (states, exact))
    # The bounds of values and of gradients that docs/howto/gradients.md states.
    for one, other, bound in (
        (found, expected, 3e-6),
        *((a, b, 2e-5) for a, b in zip(ours, theirs)),
    ):
        error = np.abs(np.asarray(one, float) - other).max(axis=1) / np.abs(other).max(axis=1)
        assert one.dtype == np.float32 and 0.0 < error.max() < bound


def test_rows_that_are_not_finite_are_nan_alone_in_jax(model):
    q, dq, _ = (np.array(x) for x in sample_states(ARM, 40))
    clean = np.asarray(model.coriolis(q, dq))
    q[3, 0] = np.nan
    found = np.asarray(jax.jit(model.coriolis)(q, dq))
    assert np.isnan(found[3]).all()
    np.testing.assert_array_equal(np.delete(found, 3, 0), np.delete(clean, 3, 0))


@pytest.mark.parametrize(
    ('q', 'said'),
    [
        (np.zeros((3, 7), complex), 'q has the type complex128; it must hold real'),
        (np.zeros((3, 7), bool), 'q has the type bool; it must hold real'),
        (None, 'q is no array of numbers'),
        (['text'], 'q is no array of numbers'),
    ],
)
def test_what_holds_no_numbers_is_refused_by_jax_models(model, q, said):
    with pytest.raises(JointVectorError, match=said):
        model.gravity(q)
