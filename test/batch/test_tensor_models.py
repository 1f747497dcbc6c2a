# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch, arrays of JAX and on a GPU: values, gradients, and what is refused."""

from contextlib import nullcontext
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.batch import batch_model
from franka_dynamics.batch.generated_model import EquationsKey
from franka_dynamics.constants import Quantity
from franka_dynamics.errors import JointVectorError, MissingDependencyError

from . import gpu_stand_in
from .test_batch_model import float32_bounds, METHODS
from ..agreement import assert_close, refuses
from ..codegen import cuda_on_cpu

ATOL = 1e-10
ARM = fd.load('fer')
FAST = 'inverse_dynamics', 'mass_matrix'
SLOW = 'nonlinear_effects', 'coriolis', 'gravity', 'forward_dynamics', 'flange_pose'
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

        self.torch = torch
        self.model = fd.BatchModel(ARM)
        self.tensor = torch.tensor
        self.kind = torch.Tensor

    def slopes(self, *states):
        func = self.torch.func
        return func.vmap(func.jacrev(self.model.inverse_dynamics, argnums=(0, 1, 2)))(*states)

    def check_gradient(self, function, states):
        given = [x.requires_grad_() for x in states]
        options = {'check_forward_ad': True, 'check_batched_grad': True, 'eps': 1e-6}
        assert self.torch.autograd.gradcheck(function, given, atol=2e-5, rtol=1e-6, **options)

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
        self.jax = jax
        self.model = fd.BatchModel(ARM)
        self.tensor = jax.numpy.asarray
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
    states = fd.sample_states(ARM, 3)
    wrench = np.arange(1.0, 7.0)
    model = fd.Model(ARM)
    given = [*map(library.tensor, states)]
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
    states = [np.array(x) for x in fd.sample_states(ARM, 40)]
    others = np.arange(40) != 3

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
    q = library.tensor(np.zeros((3, 7)))
    dq = library.tensor(np.zeros((3, 6)))
    with refuses(JointVectorError, 'dq', '(3, 6)', '(..., 7)'):
        library.model.coriolis(q, dq)


def test_jax_second_derivatives_are_refused_unless_traced():
    library = Jax()
    rpr = fd.load('rpr')
    q = fd.sample_states(rpr, 1).q[0]
    with refuses(JointVectorError, 'first derivatives', 'jax.numpy'):
        library.jax.hessian(lambda x: fd.BatchModel(rpr).gravity(x)[2])(q)
    from jax.test_util import check_grads

    gravity = fd.TracedModel(rpr, library.jax.numpy).gravity
    check_grads(gravity, (library.tensor(q),), order=2, eps=1e-4, rtol=1e-3)


@pytest.mark.parametrize(('kind', 'words'), [('complex128', 'complex'), ('bool', 'truth values')])
def test_jax_arrays_of_no_real_numbers_are_refused(kind, words):
    library = Jax()
    with refuses(JointVectorError, 'q ', words):
        library.model.gravity(library.tensor(np.zeros((3, 7), kind)))
    with refuses(JointVectorError, 'dq ', 'mask'):
        library.model.coriolis(library.tensor(np.zeros(7)), np.ma.zeros(7))


RPR = fd.load('rpr')  # whose kernels are compiled in a second
STATES = fd.sample_states(RPR, 70, seed=1)


@pytest.fixture
def core(monkeypatch, tmp_path):
    if cuda_on_cpu.COMPILER is None:
        pytest.skip('no g++ on the path')
    batch_model.shared_kernel.cache_clear()  # of kernels of another stand-in
    yield gpu_stand_in.installed(monkeypatch, tmp_path)
    batch_model.shared_kernel.cache_clear()


def on_gpu(values, number=0):
    found = np.array(values).view(gpu_stand_in.ndarray)
    found.number = number
    return found


def test_cupy_arrays_stay_on_their_gpu_and_stream(core):
    model = fd.BatchModel(RPR)
    pinocchio = fd.Model(RPR)
    found = model.inverse_dynamics(*(on_gpu(x, 1) for x in STATES))
    assert type(found) is gpu_stand_in.ndarray and found.number == 1
    assert_close(np.asarray(found), pinocchio.inverse_dynamics(*STATES), 1e-11)
    assert core.launched == [(gpu_stand_in.STREAM, 1)]
    assert core.current == 0  # as before


@pytest.mark.parametrize(
    'method',
    ['mass_matrix', 'jacobian', 'kinetic_energy', 'potential_energy', 'center_of_mass'],
)
def test_cupy_arrays_have_the_methods_of_a_model(core, method):
    given = STATES[: 2 if method == 'kinetic_energy' else 1]
    found = getattr(fd.BatchModel(RPR), method)(*map(on_gpu, given))
    assert isinstance(found, gpu_stand_in.ndarray)
    assert_close(np.asarray(found), getattr(fd.Model(RPR), method)(*given), 1e-11)


def test_layouts_types_and_leading_axes_of_gpu_arrays(core):
    model = fd.BatchModel(RPR)
    expected = fd.Model(RPR).coriolis(*STATES[:2])
    q, dq = map(on_gpu, STATES[:2])
    strided = on_gpu(np.full((140, 5), np.nan))
    strided[::2, 1:4] = dq
    columns = on_gpu(np.asfortranarray(q))
    backwards = q[::-1].copy()[::-1]
    for given in ((columns, strided[::2, 1:4]), (backwards, dq.astype('>f8'))):
        assert_close(np.asarray(model.coriolis(*given)), expected, 1e-11)
    stacked = model.coriolis(q.reshape(7, 10, 3), dq[:10])
    assert stacked.shape == (7, 10, 3)
    assert_close(np.asarray(stacked[0]), expected[:10], 1e-11)
    single = model.coriolis(q.astype(np.float32), dq.astype(np.float32))
    assert single.dtype == np.float32
    assert_close(np.asarray(single), expected, 1e-5)
    assert model.gravity(on_gpu(np.zeros((4, 3), int))).dtype == np.float64
    launched = len(core.launched)
    assert model.mass_matrix(q[:0]).shape == (0, 3, 3) and len(core.launched) == launched
    q[3, 1] = np.nan
    found = np.asarray(model.coriolis(q, dq))
    assert np.isnan(found[3]).all() and np.isfinite(np.delete(found, 3, 0)).all()


class OtherArray:
    """An array of a library that shares a GPU's memory by one protocol."""

    def __init__(self, values, protocol):
        self.held = np.array(values)
        if protocol == 'cuda':
            self.__cuda_array_interface__ = self.held.__array_interface__
        else:
            self.__dlpack_device__ = lambda: (2, 0)


@pytest.mark.parametrize('protocol', ['cuda', 'dlpack'])
def test_arrays_of_any_library_on_a_gpu_give_cupys(core, protocol):
    found = fd.BatchModel(RPR).gravity(OtherArray(STATES.q, protocol))
    assert type(found) is gpu_stand_in.ndarray
    assert_close(np.asarray(found), fd.Model(RPR).gravity(STATES.q), 1e-11)


def test_a_compiled_kernel_is_found_again_in_the_cache_folder(core, tmp_path):
    expected = np.asarray(fd.BatchModel(RPR).gravity(on_gpu(STATES.q)))
    (kept,) = (tmp_path / 'franka_dynamics').iterdir()
    for damage in (False, True):
        if damage:
            kept.write_bytes(kept.read_bytes()[:-1])
        batch_model.shared_kernel.cache_clear()
        found = np.asarray(fd.BatchModel(RPR).gravity(on_gpu(STATES.q)))
        np.testing.assert_array_equal(found, expected)
        assert core.compiled == ['sm_90'] * (1 + damage)


def test_arrays_that_are_not_on_one_gpu_are_refused(core):
    q, dq = STATES[:2]
    with refuses(JointVectorError, '[0, 1]'):
        fd.BatchModel(RPR).coriolis(on_gpu(q, 0), on_gpu(dq, 1))
    with refuses(JointVectorError, 'dq ', 'cupy.asarray'):
        fd.BatchModel(RPR).coriolis(on_gpu(q), dq)


def test_what_is_missing_is_named(core, monkeypatch):
    with refuses(MissingDependencyError, 'GPU 7', 'INVALID_DEVICE'):
        fd.BatchModel(RPR).kernel(EquationsKey(Quantity.GRAVITY), np.dtype(float), 7)
    monkeypatch.setitem(sys.modules, 'cuda', None)
    with refuses(MissingDependencyError, 'cuda-core', '[gpu]'):
        fd.BatchModel(RPR).gravity(on_gpu(STATES.q))
    monkeypatch.setitem(sys.modules, 'cupy', None)
    monkeypatch.delitem(sys.modules, 'franka_dynamics.batch.cupy_arrays')
    with refuses(MissingDependencyError, 'cupy-cuda', 'torch.as_tensor'):
        fd.BatchModel(RPR).gravity(on_gpu(STATES.q))


@pytest.mark.libraries
def test_gpu_tensors_are_evaluated_on_the_current_stream(core, monkeypatch):
    torch = pytest.importorskip('torch')
    from franka_dynamics.batch import torch_arrays

    given = [torch.tensor(x, requires_grad=True) for x in STATES]
    expected = fd.BatchModel(RPR).inverse_dynamics(*given)
    slopes = torch.autograd.grad(expected.square().sum(), given)
    monkeypatch.setattr(torch_arrays, 'gpu_index', lambda device: 1)
    monkeypatch.setattr(torch.cuda, 'device', lambda device: nullcontext())
    stream = SimpleNamespace(cuda_stream=gpu_stand_in.STREAM)
    monkeypatch.setattr(torch.cuda, 'current_stream', lambda: stream)
    found = fd.BatchModel(RPR).inverse_dynamics(*given)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-11)
    again = torch.autograd.grad(found.square().sum(), given)
    torch.testing.assert_close(again, slopes, rtol=0.0, atol=1e-9)
    assert set(core.launched) == {(gpu_stand_in.STREAM, 1)} and len(core.launched) == 2
    mapped = torch.func.vmap(fd.BatchModel(RPR).gravity)(given[0])
    torch.testing.assert_close(mapped, fd.BatchModel(RPR).gravity(given[0]))
    wide = torch.tensor(np.repeat(STATES.q, 2, axis=1))[:, ::2]  # columns are not contiguous
    torch.testing.assert_close(fd.BatchModel(RPR).gravity(wide), mapped)


def test_gpu_buffers_of_jax_are_used_on_jaxs_stream(core, monkeypatch):
    import jax

    from franka_dynamics.batch import jax_arrays

    jax.config.update('jax_enable_x64', True)

    class Buffer:
        def __init__(self, values):
            self.held = values
            self.shape = values.shape
            self.__cuda_array_interface__ = values.__array_interface__

        def __dlpack_device__(self):
            return 2, 1

    def buffer_callback(call, result, **options):
        assert options == {
            'vmap_method': 'broadcast_all',
            'command_buffer_compatible': True,
        }

        def called(*arrays):
            assert core.compiled  # before XLA calls back
            out = Buffer(np.full(result.shape, np.nan, result.dtype))
            call(
                SimpleNamespace(stream=5),
                out,
                *(Buffer(np.array(one)) for one in arrays),
            )
            return jax.numpy.asarray(out.held)

        return called

    monkeypatch.setattr(jax_arrays, 'buffer_callback', buffer_callback)
    monkeypatch.setattr(jax, 'default_backend', lambda: 'gpu')
    q, dq, tau = (jax.numpy.asarray(x) for x in STATES)
    found = fd.BatchModel(RPR).forward_dynamics(q[:, None], dq[:, None], tau[:, None])
    assert_close(np.asarray(found[:, 0]), fd.Model(RPR).forward_dynamics(*STATES), 1e-9)
    assert core.launched == [(5, 1)]
