# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU: stand-ins of cuda-core and CuPy run the generated kernels on the CPU."""

from contextlib import nullcontext
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.batch import batch_model
from franka_dynamics.batch.generated_model import EquationsKey
from franka_dynamics.errors import JointVectorError, MissingDependencyError
from franka_dynamics.names import Quantity

from . import gpu_stand_in
from ..agreement import assert_close, refuses
from ..codegen import cuda_on_cpu

pytestmark = pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason='no g++ on the path')
ARM = fd.load('rpr')  # whose kernels are compiled in a second
STATES = fd.sample_states(ARM, 70, seed=1)


@pytest.fixture
def core(monkeypatch, tmp_path):
    batch_model._shared_kernel.cache_clear()  # of kernels of another stand-in
    yield gpu_stand_in.installed(monkeypatch, tmp_path)
    batch_model._shared_kernel.cache_clear()


def on_gpu(values, number=0):
    found = np.array(values).view(gpu_stand_in.ndarray)
    found.number = number
    return found


def test_cupy_arrays_stay_on_their_gpu_and_stream(core):
    model, pinocchio = fd.BatchModel(ARM), fd.Model(ARM)
    found = model.inverse_dynamics(*(on_gpu(x, 1) for x in STATES))
    assert type(found) is gpu_stand_in.ndarray and found.number == 1
    assert_close(np.asarray(found), pinocchio.inverse_dynamics(*STATES), 1e-11)
    assert core.launched == [(gpu_stand_in.STREAM, 1)]
    assert core.current == 0  # as before


@pytest.mark.parametrize(
    'method', ['mass_matrix', 'jacobian', 'kinetic_energy', 'potential_energy', 'center_of_mass']
)
def test_cupy_arrays_have_the_methods_of_a_model(core, method):
    given = STATES[: 2 if method == 'kinetic_energy' else 1]
    found = getattr(fd.BatchModel(ARM), method)(*map(on_gpu, given))
    assert isinstance(found, gpu_stand_in.ndarray)
    assert_close(np.asarray(found), getattr(fd.Model(ARM), method)(*given), 1e-11)


def test_layouts_types_and_leading_axes_of_gpu_arrays(core):
    model, expected = fd.BatchModel(ARM), fd.Model(ARM).coriolis(*STATES[:2])
    q, dq = map(on_gpu, STATES[:2])
    strided = on_gpu(np.full((140, 5), np.nan))
    strided[::2, 1:4] = dq
    for given in (
        (on_gpu(np.asfortranarray(q)), strided[::2, 1:4]),
        (q[::-1].copy()[::-1], dq.astype('>f8')),
    ):
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
    found = fd.BatchModel(ARM).gravity(OtherArray(STATES.q, protocol))
    assert type(found) is gpu_stand_in.ndarray
    assert_close(np.asarray(found), fd.Model(ARM).gravity(STATES.q), 1e-11)


def test_a_compiled_kernel_is_found_again_in_the_cache_folder(core, tmp_path):
    expected = np.asarray(fd.BatchModel(ARM).gravity(on_gpu(STATES.q)))
    (kept,) = (tmp_path / 'franka_dynamics').iterdir()
    for damage in (False, True):
        if damage:
            kept.write_bytes(kept.read_bytes()[:-1])
        batch_model._shared_kernel.cache_clear()
        found = np.asarray(fd.BatchModel(ARM).gravity(on_gpu(STATES.q)))
        np.testing.assert_array_equal(found, expected)
        assert core.compiled == ['sm_90'] * (1 + damage)


def test_arrays_that_are_not_on_one_gpu_are_refused(core):
    q, dq = STATES[:2]
    with refuses(JointVectorError, '[0, 1]'):
        fd.BatchModel(ARM).coriolis(on_gpu(q, 0), on_gpu(dq, 1))
    with refuses(JointVectorError, 'dq ', 'cupy.asarray'):
        fd.BatchModel(ARM).coriolis(on_gpu(q), dq)


def test_what_is_missing_is_named(core, monkeypatch):
    with refuses(MissingDependencyError, 'GPU 7', 'INVALID_DEVICE'):
        fd.BatchModel(ARM).kernel(EquationsKey(Quantity.GRAVITY), np.dtype(float), 7)
    monkeypatch.setitem(sys.modules, 'cuda', None)
    with refuses(MissingDependencyError, 'cuda-core', '[gpu]'):
        fd.BatchModel(ARM).gravity(on_gpu(STATES.q))
    monkeypatch.setitem(sys.modules, 'cupy', None)
    monkeypatch.delitem(sys.modules, 'franka_dynamics.batch.cupy_arrays')
    with refuses(MissingDependencyError, 'cupy-cuda', 'torch.as_tensor'):
        fd.BatchModel(ARM).gravity(on_gpu(STATES.q))


@pytest.mark.libraries
def test_tensors_on_a_gpu_have_values_and_gradients_on_the_current_stream(core, monkeypatch):
    torch = pytest.importorskip('torch')
    from franka_dynamics.batch import torch_arrays

    given = [torch.tensor(x, requires_grad=True) for x in STATES]
    expected = fd.BatchModel(ARM).inverse_dynamics(*given)
    slopes = torch.autograd.grad(expected.square().sum(), given)
    monkeypatch.setattr(torch_arrays, '_gpu', lambda device: 1)
    monkeypatch.setattr(torch.cuda, 'device', lambda device: nullcontext())
    stream = SimpleNamespace(cuda_stream=gpu_stand_in.STREAM)
    monkeypatch.setattr(torch.cuda, 'current_stream', lambda: stream)
    found = fd.BatchModel(ARM).inverse_dynamics(*given)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-11)
    again = torch.autograd.grad(found.square().sum(), given)
    torch.testing.assert_close(again, slopes, rtol=0.0, atol=1e-9)
    assert set(core.launched) == {(gpu_stand_in.STREAM, 1)} and len(core.launched) == 2
    mapped = torch.func.vmap(fd.BatchModel(ARM).gravity)(given[0])
    torch.testing.assert_close(mapped, fd.BatchModel(ARM).gravity(given[0]))
    wide = torch.tensor(np.repeat(STATES.q, 2, axis=1))[:, ::2]  # columns are not contiguous
    torch.testing.assert_close(fd.BatchModel(ARM).gravity(wide), mapped)


def test_jax_buffers_on_a_gpu_are_read_and_written_on_jaxs_stream(core, monkeypatch):
    import jax

    from franka_dynamics.batch import jax_arrays

    jax.config.update('jax_enable_x64', True)

    class Buffer:
        def __init__(self, values):
            self.held, self.shape = values, values.shape
            self.__cuda_array_interface__ = values.__array_interface__

        def __dlpack_device__(self):
            return 2, 1

    def buffer_callback(call, result, **options):
        assert options == {'vmap_method': 'broadcast_all', 'command_buffer_compatible': True}

        def called(*arrays):
            assert core.compiled  # before XLA calls back
            out = Buffer(np.full(result.shape, np.nan, result.dtype))
            call(SimpleNamespace(stream=5), out, *(Buffer(np.array(one)) for one in arrays))
            return jax.numpy.asarray(out.held)

        return called

    monkeypatch.setattr(jax_arrays, 'buffer_callback', buffer_callback)
    monkeypatch.setattr(jax, 'default_backend', lambda: 'gpu')
    q, dq, tau = (jax.numpy.asarray(x) for x in STATES)
    model = fd.BatchModel(ARM)
    found = model.forward_dynamics(q[:, None], dq[:, None], tau[:, None])
    expected = fd.Model(ARM).forward_dynamics(*STATES)
    assert_close(np.asarray(found[:, 0]), expected, 1e-9)
    assert core.launched == [(5, 1)]
