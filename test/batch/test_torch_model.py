# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What only PyTorch has: second derivatives, mixed precision, torch.compile, devices."""

import numpy as np
import pytest

from franka_dynamics.batch.generated_model import TracedModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import JointVectorError

from .test_tensor_models import arguments, ARM, ATOL, Torch
from ..agreement import refuses


@pytest.fixture(scope='module')
def torch_model():
    return Torch()


def test_second_derivatives_are_refused_and_traced_ones_exist(torch_model):
    torch = torch_model.torch
    model = torch_model.model
    q = torch.tensor(sample_states(ARM, 1).q, requires_grad=True)
    (first,) = torch.autograd.grad(model.gravity(q).square().sum(), q, create_graph=True)
    with refuses(JointVectorError, 'first derivatives'):
        first.sum().backward()
    assert torch.autograd.gradgradcheck(TracedModel(ARM, torch).gravity, (q,), eps=1e-6, atol=2e-4)


def test_mixed_precision_gives_the_wider_one(torch_model):
    torch = torch_model.torch
    run = torch_model.model.inverse_dynamics
    q, dq, ddq = map(torch.tensor, sample_states(ARM, 5))
    expected = run(q.float().double(), dq, ddq)
    torch.testing.assert_close(run(q.float(), dq, ddq), expected, rtol=0.0, atol=0.0)
    half = [x.bfloat16() for x in (q, dq, ddq)]
    exact = run(*(x.double() for x in half))
    torch.testing.assert_close(run(*half), exact.bfloat16(), rtol=0.0, atol=0.0)


@pytest.mark.parametrize('name', ['gravity', 'mass_matrix'])
def test_forward_derivatives_are_the_backward_ones(torch_model, name):
    torch = torch_model.torch
    function = getattr(torch_model.model, name)
    q = torch.tensor(sample_states(ARM, 3).q)
    expected = torch.func.vmap(torch.func.jacrev(function))(q)
    found = torch.func.vmap(torch.func.jacfwd(function))(q)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=ATOL)


def test_wrenches_rates_and_signs_of_another_kind_are_taken(torch_model):
    torch = torch_model.torch
    model = torch_model.model
    q, dq, ddq = map(torch.tensor, sample_states(ARM, 3))
    wrench = torch.arange(6, dtype=torch.float32)
    for states in ((q, dq, ddq), (q.float(), dq.float(), ddq.float())):
        wide = [one.double() for one in (*states, wrench)]
        for kind in (torch.float32, torch.float64):
            found = model.inverse_dynamics(*states, wrench.to(kind))
            expected = model.inverse_dynamics(*wide)
            bound = 1e-4 if found.dtype == torch.float32 else 1e-12
            torch.testing.assert_close(found.double(), expected, rtol=0.0, atol=bound)
    found = model.kinetic_energy(q.float(), dq)
    torch.testing.assert_close(found, model.kinetic_energy(q.float().double(), dq))
    negated = torch.complex(q, q).conj().imag  # its memory holds q
    torch.testing.assert_close(model.gravity(negated), model.gravity(-q))
    with refuses(JointVectorError, 'to_dense'):
        model.gravity(q.to_sparse())


@pytest.mark.parametrize('name', ['inverse_dynamics', 'mass_matrix'])
def test_traced_methods_are_one_graph_to_compile(torch_model, name):
    torch = torch_model.torch
    states = [*map(torch.tensor, arguments(name, 4))]
    expected = getattr(torch_model.model, name)(*states)
    traced = getattr(TracedModel(ARM, torch), name)
    traced(*states)  # generates
    # The backend `eager` traces without the minute of C++; a graph break is an error.
    found = torch.compile(traced, backend='eager', fullgraph=True)(*states)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=ATOL)


# Dynamo looks at .grad of what it traces.
@pytest.mark.filterwarnings('ignore:The .grad attribute')
def test_compiled_functions_call_a_batch_between_their_graphs(torch_model):
    torch = torch_model.torch
    model = torch_model.model
    q = torch.tensor(sample_states(ARM, 4).q, requires_grad=True)

    def moved(q):
        return (model.mass_matrix(2.0 * q) @ q[..., None]).sum()

    compiled = torch.compile(moved, backend='eager')
    torch.testing.assert_close(compiled(q), moved(q))
    found, expected = (torch.autograd.grad(one(q), q) for one in (compiled, moved))
    torch.testing.assert_close(found, expected)


def test_no_states_give_no_rows(torch_model):
    q = torch_model.torch.zeros(0, 7, requires_grad=True)
    found = torch_model.model.mass_matrix(q)
    assert found.shape == (0, 7, 7)
    found.sum().backward()
    assert q.grad.shape == (0, 7)


@pytest.mark.parametrize('kind', [None, 'int64', 'complex128'])
def test_what_is_not_a_tensor_of_states_is_refused(torch_model, kind):
    torch = torch_model.torch
    q = np.zeros((3, 7))
    wrong = torch.tensor(q).to(getattr(torch, kind)) if kind else q
    with refuses(JointVectorError, 'q ', kind or 'ndarray'):
        torch_model.model.coriolis(wrong, torch.tensor(q))
    with refuses(JointVectorError, 'cpu, meta'):
        torch_model.model.coriolis(torch.tensor(q), torch.tensor(q).to('meta'))
