# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors in and out; gradients against finite differences and the package's derivatives."""

import numpy as np
import pytest

pytest.importorskip('torch', reason='the [torch] extra is not installed')
pytest.importorskip('numba', reason='the [batch] extra is not installed')

import torch

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.torch_model import TorchModel
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import differentiate
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import JointVectorError

from .quantities import ARGUMENTS

ATOL = 1e-10
ARM = load('fer')


@pytest.fixture(scope='module')
def model():
    return TorchModel(ARM)


def tensors(count=5, gradients=False):
    return [torch.tensor(x, requires_grad=gradients) for x in sample_states(ARM, count)]


@pytest.mark.parametrize('name', ['inverse_dynamics', 'coriolis', 'gravity', 'mass_matrix'])
def test_tensors_have_pinocchios_values(model, name):
    states = tensors()[: ARGUMENTS[name]]
    found = getattr(model, name)(*states)
    expected = getattr(PinocchioModel(ARM), name)(*(x.numpy() for x in states))
    np.testing.assert_allclose(found.numpy(), expected, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('name', ARGUMENTS)
def test_gradients_are_the_finite_differences(model, name):
    # torch.autograd.gradcheck compares with central differences of its own.
    states = tensors(3, gradients=True)[: ARGUMENTS[name]]
    assert torch.autograd.gradcheck(getattr(model, name), states, eps=1e-6, atol=2e-5, rtol=1e-6)


def test_slopes_are_those_of_the_differentiated_recursion(model):
    states = tensors(4)
    found = torch.func.vmap(torch.func.jacrev(model.inverse_dynamics, argnums=(0, 1, 2)))(*states)
    expected = differentiate(BodyTree.from_description(ARM), *(x.numpy() for x in states)).tau
    for ours, theirs in zip(found, (expected.by_q, expected.by_dq, expected.by_ddq)):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=0.0, atol=ATOL)


def test_second_derivatives_are_refused_and_traced_ones_exist(model):
    (q,) = tensors(1, gradients=True)[:1]
    (first,) = torch.autograd.grad(model.gravity(q).square().sum(), q, create_graph=True)
    with pytest.raises(JointVectorError, match='gives first derivatives'):
        first.sum().backward()
    assert torch.autograd.gradgradcheck(model.traced.gravity, (q,), eps=1e-6, atol=2e-4)


def test_traced_gradients_are_the_kernels(model):
    states = tensors(4, gradients=True)
    for function in (model.inverse_dynamics, model.traced.inverse_dynamics):
        function(*states).square().sum().backward()
    again = tensors(4, gradients=True)
    model.inverse_dynamics(*again).square().sum().backward()
    for both, one in zip(states, again):
        torch.testing.assert_close(both.grad, 2.0 * one.grad, rtol=1e-10, atol=1e-7)


def test_single_precision_comes_back_in_single_precision(model):
    states = [x.float() for x in tensors()]
    found = model.inverse_dynamics(*states)
    assert found.dtype == torch.float32
    exact = model.inverse_dynamics(*(x.double() for x in states))
    # Computed in float64, rounded once.
    torch.testing.assert_close(found.double(), exact, rtol=6e-8, atol=0.0)


def test_a_tensor_is_read_where_it_is(model):
    q = tensors()[0].flip(0)
    expected = model.gravity(q.clone())
    torch.testing.assert_close(model.gravity(q), expected, rtol=0.0, atol=0.0)


@pytest.mark.parametrize(
    ('q', 'said'),
    [
        (np.zeros(7), 'q is a ndarray, not a tensor'),
        (torch.zeros(3, 6), r'q has shape \(3, 6\), expected \(\.\.\., 7\)'),
    ],
)
def test_what_is_no_tensor_of_states_is_refused(model, q, said):
    with pytest.raises(JointVectorError, match=said):
        model.gravity(q)
