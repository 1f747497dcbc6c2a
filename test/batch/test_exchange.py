# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries by DLPack: results are of the same library, without a copy."""

from importlib.util import find_spec

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch import batch_model, exchange
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.errors import JointVectorError

ARM = load('rpr')
METHODS = {'inverse_dynamics': 3, 'gravity': 1, 'inverse_dynamics_derivatives': 3}


class Held:
    """An array of a library that knows the protocol and nothing else."""

    def __init__(self, array, device=(1, 0), fault=None, library=None):
        self.array, self.device, self.fault, self.library = array, device, fault, library

    def __array_namespace__(self):
        return self.library or Library

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if self.fault:
            raise self.fault
        return self.array.__dlpack__(**options)

    def __getitem__(self, key):
        return Held(self.array[key])


class Library:
    """The library's module."""

    @staticmethod
    def from_dlpack(array):
        return Held(np.from_dlpack(array))


# Of each library: functions from NumPy to it, back, and to the address of an array's memory.
def held():
    return Held, lambda array: array.array, lambda array: array.array.ctypes.data


def pytorch():
    import torch

    return torch.from_numpy, lambda tensor: tensor.numpy(), lambda tensor: tensor.data_ptr()


def jax():
    import jax

    jax.config.update('jax_enable_x64', True)
    return jax.numpy.asarray, np.asarray, lambda array: array.unsafe_buffer_pointer()


INSTALLED = [
    library for library in (pytorch, jax) if find_spec(library.__name__.replace('py', ''))
]


@pytest.fixture
def filled(monkeypatch):
    """Return a list to which the addresses of results' memory are appended."""
    seen = []

    def noted(shape, dtype):
        array = original(shape, dtype)
        seen.append(array.ctypes.data)
        return array

    original = batch_model.aligned
    for module in (batch_model, exchange):
        monkeypatch.setattr(module, 'aligned', noted)
    return seen


@pytest.mark.parametrize('dtype', [np.float64, np.float32])
@pytest.mark.parametrize('library', [held, *INSTALLED])
@pytest.mark.parametrize('name', METHODS)
def test_each_method_gives_the_kind_it_was_given(name, library, dtype, filled):
    to, back, address = library()
    model = BatchModel(ARM)
    states = [np.asarray(x, dtype) for x in sample_states(ARM, 5)[: METHODS[name]]]
    expected = getattr(model, name)(*states)
    found = getattr(model, name)(*map(to, states))
    parts, wanted = (one if isinstance(one, tuple) else (one,) for one in (found, expected))
    if name != 'inverse_dynamics_derivatives':  # JAX converts views to arrays
        assert [address(found)] == filled
    for ours, theirs in zip(parts, wanted):
        assert type(ours) is type(to(states[0]))
        np.testing.assert_array_equal(back(ours), theirs)


Q = np.zeros((2, 3))


@pytest.mark.parametrize(
    ('q', 'out', 'named'),
    [
        (Held(Q, device=(2, 0)), None, 'q is in the memory of another device'),
        (Held(Q, fault=BufferError('it has a gradient')), None, 'q .*: it has a gradient'),
        (Held(np.zeros((2, 4))), None, r'q has shape \(2, 4\), expected'),
        (Held(np.zeros((2, 3), complex)), None, 'q has the type complex128'),
        (Held(Q), Held(Q), 'out must be a writeable, C-contiguous NumPy array'),
    ],
)
def test_what_cannot_be_exchanged_is_refused(q, out, named):
    with pytest.raises(JointVectorError, match=named):
        BatchModel(ARM).gravity(q, out)


def test_two_libraries_at_a_time_are_refused():
    with pytest.raises(JointVectorError, match='dq is an array of numpy and q one of Libr'):
        BatchModel(ARM).coriolis(Held(Q), Held(Q, library=np))
