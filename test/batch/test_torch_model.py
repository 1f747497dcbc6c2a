# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors in and out; gradients against finite differences and the package's derivatives."""

import numpy as np
import pytest

pytest.importorskip('torch', reason='the [torch] extra is not installed')

import torch

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.torch_model import TorchModel
from franka_dynamics.batch.traced_model import TracedModel
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


# Of each state's largest value and largest element of each gradient, as docs/howto/gradients.md
# states them: values as those of the kernels of batches.
SINGLE = {
    'inverse_dynamics': (3e-6, 2e-5),
    'nonlinear_effects': (3e-6, 2e-5),
    'coriolis': (1e-4, 1e-3),
    'gravity': (3e-6, 2e-5),
    'mass_matrix': (3e-6, 1e-3),
    'forward_dynamics': (1e-2, 1e-1),
    'flange_pose': (1e-6, 1e-6),
}


@pytest.mark.parametrize('name', ARGUMENTS)
def test_float32_is_computed_in_float32_within_bounds(model, name):
    given = tensors(200)[: ARGUMENTS[name]]
    single = [x.float().requires_grad_() for x in given]
    exact = [x.detach().double().requires_grad_() for x in single]
    found, expected = (getattr(model, name)(*states) for states in (single, exact))
    assert found.dtype == torch.float32
    weights = torch.tensor(np.random.default_rng(0).normal(size=expected.shape)).float()
    found.backward(weights)
    expected.backward(weights.double())
    value, gradient = SINGLE[name]
    assert 0.0 < error(found, expected) < value
    for ours, theirs in zip(single, exact):
        assert ours.grad.dtype == torch.float32
        assert 0.0 < error(ours.grad, theirs.grad) < gradient


def error(found, expected):
    """Return the largest error, of each state's largest element."""
    count = len(expected)
    found, expected = found.detach().double(), expected.detach()
    difference = (found - expected).abs().reshape(count, -1).amax(1)
    return float((difference / expected.abs().reshape(count, -1).amax(1)).max())


def test_mixed_precision_gives_the_wider_one(model):
    q, dq, ddq = tensors()
    found = model.inverse_dynamics(q.float(), dq, ddq)
    expected = model.inverse_dynamics(q.float().double(), dq, ddq)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=0.0)
    half = [x.bfloat16() for x in (q, dq, ddq)]
    found = model.inverse_dynamics(*half)
    exact = model.inverse_dynamics(*(x.double() for x in half))
    torch.testing.assert_close(found, exact.bfloat16(), rtol=0.0, atol=0.0)


@pytest.mark.parametrize('name', ['inverse_dynamics', 'mass_matrix'])
def test_traced_columns_are_one_graph_to_compile(model, name):
    states = tensors(4)[: ARGUMENTS[name]]
    expected = getattr(model, name)(*states)
    columns = getattr(TracedModel(ARM, torch, columns=True), name)
    turned = [x.T.contiguous() for x in states]
    columns(*turned)  # generates
    # What torch.compile traces, without the minute that its C++ takes; a break is an error.
    found = torch.compile(columns, backend='eager', fullgraph=True)(*turned)
    torch.testing.assert_close(found.movedim(-1, 0), expected, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize(
    ('q', 'said'),
    [
        (np.zeros(7), 'q is a ndarray, not a tensor'),
        (torch.zeros(3, 6), r'q has shape \(3, 6\), expected \(\.\.\., 7\)'),
        (torch.zeros(3, 7, dtype=torch.int64), 'q has the type torch.int64; give floating-point'),
        (torch.zeros(3, 7, dtype=torch.complex128), 'q has the type torch.complex128'),
    ],
)
def test_what_is_no_tensor_of_states_is_refused(model, q, said):
    with pytest.raises(JointVectorError, match=said):
        model.gravity(q)


def test_tensors_of_different_devices_are_refused(model):
    q = torch.zeros(3, 7)
    with pytest.raises(JointVectorError, match='dq is on meta and q on cpu; give all on one'):
        model.coriolis(q, torch.zeros(3, 7, device='meta'))


def test_rows_that_are_not_finite_are_nan_alone_in_tensors(model):
    states = tensors(40)
    clean = model.inverse_dynamics(*states)
    states[0][3, 0] = torch.nan
    marked = [x.clone().requires_grad_() for x in states]
    found = model.inverse_dynamics(*marked)
    others = torch.arange(40) != 3
    assert found[3].isnan().all()
    torch.testing.assert_close(found[others], clean[others], rtol=0.0, atol=0.0)
    found[others].sum().backward()
    assert all(x.grad[others].isfinite().all() for x in marked)


def test_no_states_give_no_rows(model):
    q = torch.zeros(0, 7, requires_grad=True)
    found = model.mass_matrix(q)
    assert found.shape == (0, 7, 7)
    found.sum().backward()
    assert q.grad.shape == (0, 7)
