# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch and arrays of JAX: values, gradients, precision, and what is refused."""

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.errors import JointVectorError

from .test_batch_model import float32_bounds, METHODS
from ..agreement import refuses

ATOL = 1e-10
ARM = fd.load('fer')
FAST, SLOW = (
    ('inverse_dynamics', 'mass_matrix'),
    ('nonlinear_effects', 'coriolis', 'gravity', 'forward_dynamics', 'flange_pose'),
)
# Compiling the gradients of the others takes half a minute; PyTorch is gigabytes.
every_method = pytest.mark.parametrize(
    'name', [*FAST, *(pytest.param(name, marks=pytest.mark.libraries) for name in SLOW)]
)


def arguments(name, count):
    """Return the arrays that a method takes, with a number of states."""
    return fd.sample_states(ARM, count)[: METHODS[name][0]]


class Torch:
    """PyTorch's implementation of what the tests of both libraries need."""

    def __init__(self):
        import torch

        self.torch, self.model, self.tensor = torch, fd.BatchModel(ARM), torch.tensor
        self.kind = torch.Tensor

    def slopes(self, *states):
        func = self.torch.func
        return func.vmap(func.jacrev(self.model.inverse_dynamics, argnums=(0, 1, 2)))(*states)

    def check_gradient(self, function, states):
        given, kinds = [x.requires_grad_() for x in states], ('forward_ad', 'batched_grad')
        options = {f'check_{kind}': True for kind in kinds}
        assert self.torch.autograd.gradcheck(
            function, given, eps=1e-6, atol=2e-5, rtol=1e-6, **options
        )

    def pulled_back(self, function, states, weights):
        """Return the value, and the gradients of its weighted sum."""
        given = [x.requires_grad_() for x in states]
        found = function(*given)
        found.backward(self.torch.tensor(weights).to(found.dtype))
        return [x.detach().numpy() for x in (found, *(x.grad for x in given))]


class Jax:
    """JAX's implementation of what the tests of both libraries need, under jit."""

    def __init__(self):
        import jax

        jax.config.update('jax_enable_x64', True)
        self.jax, self.model, self.tensor = jax, fd.BatchModel(ARM), jax.numpy.asarray
        self.kind = jax.Array

    def slopes(self, *states):
        slopes = self.jax.jacrev(self.model.inverse_dynamics, argnums=(0, 1, 2))
        return self.jax.jit(self.jax.vmap(slopes))(*states)

    def check_gradient(self, function, states):
        from jax.test_util import check_grads

        check_grads(function, states, order=1, modes=['fwd', 'rev'], rtol=1e-5, eps=1e-6)

    def pulled_back(self, function, states, weights):
        """Return the value, and the gradients of its weighted sum."""
        found, back = self.jax.vjp(self.jax.jit(function), *states)
        return [np.asarray(x) for x in (found, *back(weights.astype(found.dtype)))]


@pytest.fixture(scope='module', params=[pytest.param(Torch, marks=pytest.mark.libraries), Jax])
def library(request):
    return request.param()


@pytest.mark.parametrize('name', METHODS)
def test_tensors_have_pinocchios_values(library, name):
    states = list(fd.sample_states(ARM, 5)[: METHODS[name][0]])
    states[-1] = states[-1][:, None]  # leading axes broadcast
    model = fd.Model(ARM)
    found = getattr(library.model, name)(*map(library.tensor, states))
    expected = np.asarray(getattr(model, name)(*states))
    several = isinstance(found, tuple)
    assert all(isinstance(one, library.kind) for one in (found if several else [found]))
    found = np.asarray([np.asarray(x) for x in found] if several else found)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=ATOL)


def test_tensors_take_wrenches_and_columns(library):
    states, wrench = fd.sample_states(ARM, 3), np.arange(1.0, 7.0)
    model, given = fd.Model(ARM), [*map(library.tensor, states)]
    found = library.model.inverse_dynamics(*given, library.tensor(wrench))
    expected = model.inverse_dynamics(*states, wrench)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0.0, atol=ATOL)
    found = library.model.regressor(*given, columns=[69, 3])
    expected = model.regressor(*states, columns=[69, 3])
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0.0, atol=ATOL)


@every_method
def test_gradients_are_the_finite_differences(library, name):
    # Both libraries' own checkers take finite differences; the largest slope is some 1e3 per rad.
    states = arguments(name, 3)
    library.check_gradient(getattr(library.model, name), [*map(library.tensor, states)])


def test_mapped_slopes_are_those_of_the_differentiated_recursion(library):
    states = fd.sample_states(ARM, 4)
    found = library.slopes(*map(library.tensor, states))
    expected = fd.dynamics_derivatives(fd.BodyTree.from_description(ARM), *states).tau
    for got, theirs in zip(found, (expected.by_q, expected.by_dq, expected.by_ddq)):
        np.testing.assert_allclose(np.asarray(got), theirs, rtol=0.0, atol=ATOL)


@every_method
def test_float32_is_computed_in_float32_within_bounds(library, name):
    single = [x.astype(np.float32) for x in arguments(name, 200)]
    function = getattr(library.model, name)
    shape = function(*map(library.tensor, single)).shape
    weights = np.random.default_rng(0).normal(size=tuple(shape)).astype(np.float32)
    found, expected = (
        library.pulled_back(function, [library.tensor(x.astype(kind)) for x in single], weights)
        for kind in (np.float32, np.float64)
    )
    value, gradient = float32_bounds(name)
    for ours, theirs, bound in zip(found, expected, (value, *len(single) * [gradient])):
        error = np.abs(ours - theirs).max() / np.abs(theirs).max()
        assert ours.dtype == np.float32 and 0.0 < error < bound


def test_rows_that_are_not_finite_are_nan_alone(library):
    states, others = [np.array(x) for x in fd.sample_states(ARM, 40)], np.arange(40) != 3

    def pulled_back():
        given = [*map(library.tensor, states)]
        weights = np.outer(others, np.ones(7))
        return library.pulled_back(library.model.inverse_dynamics, given, weights)

    clean = pulled_back()[0]
    states[0][3, 0] = np.nan
    found, *gradients = pulled_back()
    assert np.isnan(found[3]).all()
    np.testing.assert_array_equal(found[others], clean[others])
    assert all(np.isfinite(one[others]).all() for one in gradients)


def test_arguments_of_another_shape_are_refused(library):
    q, dq = library.tensor(np.zeros((3, 7))), library.tensor(np.zeros((3, 6)))
    with refuses(JointVectorError, 'dq', '(3, 6)', '(..., 7)'):
        library.model.coriolis(q, dq)


def test_second_derivatives_of_jax_are_refused_and_traced_ones_exist():
    library, rpr = Jax(), fd.load('rpr')
    q = fd.sample_states(rpr, 1).q[0]
    with refuses(JointVectorError, 'first derivatives', 'jax.numpy'):
        library.jax.hessian(lambda x: fd.BatchModel(rpr).gravity(x)[2])(q)
    from jax.test_util import check_grads

    gravity = fd.TracedModel(rpr, library.jax.numpy).gravity
    check_grads(gravity, (library.tensor(q),), order=2, eps=1e-4, rtol=1e-3)


@pytest.mark.parametrize('kind', ['complex128', 'bool'])
def test_jax_arrays_of_no_real_numbers_are_refused(kind):
    library = Jax()
    with refuses(JointVectorError, 'q ', kind):
        library.model.gravity(library.tensor(np.zeros((3, 7), kind)))
    with refuses(JointVectorError, 'dq ', 'mask'):
        library.model.coriolis(library.tensor(np.zeros(7)), np.ma.zeros(7))
