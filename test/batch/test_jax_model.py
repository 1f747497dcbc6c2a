# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""jit, vmap and grad over the kernels against Pinocchio, finite differences and derivatives."""

import numpy as np
import pytest

pytest.importorskip('jax', reason='the [jax] extra is not installed')
pytest.importorskip('numba', reason='the [batch] extra is not installed')

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


def test_many_states_pass_through_a_compiled_call(model):
    states = sample_states(ARM, 20_000)
    found = jax.jit(model.gravity)(states[0])
    np.testing.assert_allclose(
        found[::5000], PinocchioModel(ARM).gravity(states[0][::5000]), rtol=0.0, atol=ATOL
    )


def test_traced_gravity_has_the_same_gradient(model):
    (q, *_) = sample_states(ARM, 3)
    ours, traced = (
        jax.grad(lambda x, f=function: (f(x) ** 2).sum())(q)
        for function in (model.gravity, model.traced.gravity)
    )
    np.testing.assert_allclose(ours, traced, rtol=0.0, atol=1e-8)  # N^2 m^2, up to 1e4


def test_an_argument_of_another_shape_is_refused(model):
    with pytest.raises(JointVectorError, match=r'dq has shape \(3, 6\), expected \(\.\.\., 7\)'):
        model.coriolis(np.zeros((3, 7)), np.zeros((3, 6)))
