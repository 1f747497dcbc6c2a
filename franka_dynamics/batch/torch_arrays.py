# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches of PyTorch's tensors, with gradients from the generated derivatives."""

from __future__ import annotations

from collections.abc import Sequence
import functools
import math
from typing import Any

import numpy as np
import torch

from .libraries import is_plain, second_derivative_error
from ..errors import JointVectorError

# Autograd's nodes take longer than a kernel; without gradients they are left out, unless
# torch.func transforms a function, whose tensors have no memory.
_is_transforming = getattr(torch._C, '_are_functorch_transforms_active', lambda: True)
_PRECISIONS = {torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64)}
xp = torch
PLAIN = torch.Tensor, _PRECISIONS


def read(values: Any) -> Any:
    """Return a tensor of floating-point numbers as it is; TypeError for anything else."""
    if not isinstance(values, torch.Tensor) or not values.dtype.is_floating_point:
        kind = getattr(values, 'dtype', type(values).__name__)
        raise TypeError(f'{kind}; give a tensor of floating-point numbers, as of .double().')
    return values


def evaluate(model: Any, key: Any, tensors: Sequence[Any], lead: Sequence[int]) -> Any:
    """
    Return a quantity of a model at tensors with leading axes `lead`, differentiable once.

    Raises
    ------
    JointVectorError
        If the tensors are on different devices, or neither on a CPU nor an NVIDIA GPU.

    """
    if torch.compiler.is_compiling():  # which cannot trace what runs machine code
        return torch.compiler.disable(evaluate)(model, key, tensors, lead)
    device = tensors[0].device
    if any(tensor.device != device for tensor in tensors):
        listed = ', '.join(f'{tensor.device}' for tensor in tensors)
        raise JointVectorError(f'The tensors are on {listed}; give all on one device.')
    if any(tensor.shape[:-1] != lead for tensor in tensors):
        tensors = torch.broadcast_tensors(*tensors)
    differentiated = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
    if differentiated or _is_transforming():
        return _Quantity.apply(model, key, False, *tensors)
    return _computed(model, key, False, tensors)


def _gpu(device: Any) -> int | None:
    """Return the number of a tensor's GPU, None for the CPU; JointVectorError for others."""
    if device.type == 'cpu':
        return None
    if device.type != 'cuda' or torch.version.hip:
        raise JointVectorError(
            f'BatchModel computes on a CPU or an NVIDIA GPU, not on {device}; TracedModel(arm, '
            'torch) computes on any device of PyTorch.'
        )
    number: int = device.index
    return number


def _computed(model: Any, key: Any, derivatives: bool, tensors: Sequence[Any]) -> Any:
    """Return a quantity, or its derivatives, at tensors (..., n) of one shape."""
    if is_plain(tensors, n := model.description.n, *PLAIN):
        return _of_rows(model, key, derivatives, tensors)
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    kind = dtype if dtype in _PRECISIONS else torch.float64
    lead = tensors[0].shape[:-1]
    rows = [tensor.to(kind).reshape(math.prod(lead), n) for tensor in tensors]
    found = _of_rows(model, key, derivatives, rows)
    return found.reshape(*lead, *found.shape[1:]).to(dtype)


def _of_rows(model: Any, key: Any, derivatives: bool, rows: Sequence[Any]) -> Any:
    """Return a quantity, or its derivatives, at tensors (N, n) of one type."""
    device, dtype, states = rows[0].device, rows[0].dtype, len(rows[0])
    gpu = _gpu(device)
    if gpu is None:
        kernel = model.kernel(key, _PRECISIONS[dtype], derivatives=derivatives)
        return torch.from_numpy(kernel([row.detach().numpy() for row in rows], model.threads))
    with torch.cuda.device(device):
        kernel = model.kernel(key, _PRECISIONS[dtype], gpu, derivatives=derivatives)
        found = torch.empty((states, *kernel.shape), dtype=dtype, device=device)
        rows = [row if row.stride(1) == 1 else row.contiguous() for row in rows]
        places = [(row.data_ptr(), row.stride(0)) for row in rows]
        kernel(torch.cuda.current_stream().cuda_stream, states, places, found.data_ptr())
    return found


class _Quantity(torch.autograd.Function):
    """A node of PyTorch's autograd graph: a quantity, or its first derivatives."""

    @staticmethod
    def forward(model: Any, key: Any, derivatives: bool, *tensors: Any) -> Any:
        return _computed(model, key, derivatives, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.model, ctx.key, ctx.derivatives = inputs[:3]
        ctx.save_for_backward(*inputs[3:])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        if ctx.derivatives:
            raise second_derivative_error('torch')
        tensors = ctx.saved_tensors
        derivatives = _Quantity.apply(ctx.model, ctx.key, True, *tensors)
        letters = 'abc'[: derivatives.ndim - tensors[0].ndim]
        found = torch.einsum(f'...{letters},...{letters}k->...k', grad, derivatives)
        return (None, None, None, *found.split(tensors[0].shape[-1], -1))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], model: Any, key: Any, derivatives: bool, *tensors: Any
    ) -> Any:
        # The axis of vmap comes first; tensors without this axis are repeated along it.
        stacked = [
            tensor.expand(info.batch_size, *tensor.shape)
            if dim is None
            else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors, in_dims[3:])
        ]
        return _Quantity.apply(model, key, derivatives, *stacked), 0
