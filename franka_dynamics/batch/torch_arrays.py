# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates dynamics at batches of states in PyTorch tensors, with analytic gradients."""

from collections.abc import Sequence
import functools
import math
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from .libraries import are_kernel_inputs, second_derivative_error
from ..errors import JointVectorError

# Autograd's nodes take longer than a kernel; without gradients they are left out, unless
# torch.func transforms a function, whose tensors have no memory.
_is_functorch_active = getattr(torch._C, '_are_functorch_transforms_active', lambda: True)
_NUMPY_DTYPES = {
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}
xp = torch
KERNEL_INPUT_TYPES = torch.Tensor, _NUMPY_DTYPES


def as_array(values: Any) -> Any:
    """Return a tensor of floating-point numbers as it is; TypeError for anything else."""
    if not isinstance(values, torch.Tensor):
        kind = type(values).__name__
        raise TypeError(f'it is a {kind} beside tensors; give torch.as_tensor(array).')
    if not values.dtype.is_floating_point:
        raise TypeError(f'it is of {values.dtype}; give floating-point numbers, as of .double().')
    return values


def evaluate(model: Any, key: Any, tensors: Sequence[Any], batch_shape: Sequence[int]) -> Any:
    """
    Return a quantity of a model at tensors with leading axes `batch_shape`, differentiable once.

    Raises
    ------
    JointVectorError
        If the tensors are sparse, on different devices, or neither on a CPU nor an NVIDIA GPU.

    """
    if torch.compiler.is_compiling():  # which cannot trace what runs machine code
        return torch.compiler.disable(evaluate)(model, key, tensors, batch_shape)
    device = tensors[0].device
    if any(tensor.device != device for tensor in tensors):
        listed = ', '.join(f'{tensor.device}' for tensor in tensors)
        raise JointVectorError(f'The tensors are on {listed}; give all on one device.')
    if any(tensor.layout is not torch.strided for tensor in tensors):
        raise JointVectorError('A sparse tensor is no array of states; give tensor.to_dense().')
    if any(tensor.shape[:-1] != batch_shape for tensor in tensors):
        tensors = torch.broadcast_tensors(*tensors)
    backward = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
    if backward or _is_functorch_active() or any(map(_has_tangent, tensors)):
        return _QuantityFunction.apply(model, key, *tensors)
    return _compute_quantity(model, key, tensors)


def _has_tangent(tensor: Any) -> bool:
    """Return whether a tensor is a dual number of PyTorch's forward differentiation."""
    return forward_ad.unpack_dual(tensor).tangent is not None


def gpu_index(device: Any) -> int | None:
    """Return a tensor's GPU number, or None on a CPU; raise JointVectorError on other devices."""
    if device.type == 'cpu':
        return None
    if device.type != 'cuda' or torch.version.hip:
        raise JointVectorError(
            f'BatchModel computes on a CPU or an NVIDIA GPU, not on {device}; TracedModel(arm, '
            'torch) computes on any device of PyTorch.'
        )
    number: int = device.index
    return number


def _compute_quantity(model: Any, equations_key: Any, tensors: Sequence[Any]) -> Any:
    """Return a quantity at tensors (..., n) of one shape."""
    if are_kernel_inputs(tensors, n := model.description.n, KERNEL_INPUT_TYPES):
        return _compute_rows(model, equations_key, tensors)
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    kind = dtype if dtype in _NUMPY_DTYPES else torch.float64
    batch_shape = tensors[0].shape[:-1]
    rows = [tensor.to(kind).reshape(math.prod(batch_shape), n) for tensor in tensors]
    found = _compute_rows(model, equations_key, rows)
    return found.reshape(*batch_shape, *found.shape[1:]).to(dtype)


def _compute_rows(model: Any, equations_key: Any, rows: Sequence[Any]) -> Any:
    """Return a quantity at tensors (N, n) of one type."""
    device = rows[0].device
    dtype = rows[0].dtype
    states = len(rows[0])
    rows = [row.detach().resolve_neg() for row in rows]  # signs that are only noted, as of .imag
    gpu = gpu_index(device)
    if gpu is None:
        kernel = model.kernel(equations_key, _NUMPY_DTYPES[dtype])
        return torch.from_numpy(kernel([row.numpy() for row in rows], model.threads))
    with torch.cuda.device(device):
        kernel = model.kernel(equations_key, _NUMPY_DTYPES[dtype], gpu)
        found = torch.empty((states, *kernel.result_shape), dtype=dtype, device=device)
        rows = [row if row.stride(1) == 1 else row.contiguous() for row in rows]
        places = [(row.data_ptr(), row.stride(0)) for row in rows]
        kernel(torch.cuda.current_stream().cuda_stream, states, places, found.data_ptr())
    return found


class _QuantityFunction(torch.autograd.Function):
    """A PyTorch autograd function that computes a quantity or its first derivatives."""

    @staticmethod
    def forward(model: Any, key: Any, *tensors: Any) -> Any:
        """Return the quantity `key` of `model` at the tensors."""
        return _compute_quantity(model, key, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Store the inputs and the result's shape in the node's context, for derivatives."""
        ctx.model, ctx.key, *tensors = inputs
        ctx.shape = output.shape[tensors[0].ndim - 1 :]  # at one state
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        """Return the gradients by the inputs from the gradient by the result."""
        derivatives, lead = _derivatives_and_leading_axes(ctx)
        found = grad.reshape(*lead, 1, math.prod(ctx.shape)) @ derivatives
        return (
            None,
            None,
            *found.squeeze(-2).split(ctx.saved_tensors[0].shape[-1], -1),
        )

    @staticmethod
    def jvp(ctx: Any, _model: None, _key: None, *tangents: Any) -> Any:
        """Return the change of the result along tangents of the inputs."""
        derivatives, lead = _derivatives_and_leading_axes(ctx)
        change = [
            torch.zeros_like(tensor) if tangent is None else tangent
            for tensor, tangent in zip(ctx.saved_tensors, tangents)
        ]
        return (derivatives @ torch.cat(change, -1)[..., None]).reshape(*lead, *ctx.shape)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], model: Any, key: Any, *tensors: Any) -> Any:
        """Return the quantity at batched tensors, and 0, the index of the batch axis."""
        # The axis of vmap comes first; tensors without this axis are repeated along it.
        stacked = []
        size = info.batch_size
        for tensor, dim in zip(tensors, in_dims[2:]):
            alone = dim is None
            stacked.append(tensor.expand(size, *tensor.shape) if alone else tensor.movedim(dim, 0))
        return _QuantityFunction.apply(model, key, *stacked), 0


def _derivatives_and_leading_axes(ctx: Any) -> tuple[Any, Any]:
    """Return a quantity's derivatives, (..., its size, input numbers), and their leading shape."""
    if ctx.key.derivatives:
        raise second_derivative_error('torch')
    tensors = ctx.saved_tensors
    derivatives = _QuantityFunction.apply(ctx.model, ctx.key._replace(derivatives=True), *tensors)
    lead = tensors[0].shape[:-1]
    return derivatives.reshape(*lead, math.prod(ctx.shape), derivatives.shape[-1]), lead
