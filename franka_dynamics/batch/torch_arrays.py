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

from ..errors import JointVectorError


def namespace() -> Any:
    """Return PyTorch."""
    return torch


def read(values: Any) -> Any:
    """Return a tensor of floating-point numbers as it is; TypeError for anything else."""
    if not isinstance(values, torch.Tensor) or not values.dtype.is_floating_point:
        kind = getattr(values, 'dtype', type(values).__name__)
        raise TypeError(f'{kind}; give a tensor of floating-point numbers, as of .double().')
    return values


def evaluate(model: Any, key: Any, tensors: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """
    Return a quantity of a model at tensors with leading axes `lead`, differentiable once.

    Raises
    ------
    JointVectorError
        If the tensors are on different devices, or neither on a CPU nor an NVIDIA GPU.

    """
    device = tensors[0].device
    if any(tensor.device != device for tensor in tensors):
        listed = ', '.join(f'{tensor.device}' for tensor in tensors)
        raise JointVectorError(f'The tensors are on {listed}; give all on one device.')
    if device.type not in ('cpu', 'cuda') or (device.type == 'cuda' and torch.version.hip):
        raise JointVectorError(
            f'BatchModel computes on a CPU or an NVIDIA GPU, not on {device}; TracedModel(arm, '
            'torch) computes on any device of PyTorch.'
        )
    return _Quantity.apply(model, key, False, *torch.broadcast_tensors(*tensors))


def _computed(model: Any, key: Any, derivatives: bool, tensors: Sequence[Any]) -> Any:
    """Return a quantity, or its derivatives, at tensors (..., n) of one shape."""
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    kind = torch.float32 if dtype == torch.float32 else torch.float64
    device, lead, n = tensors[0].device, tensors[0].shape[:-1], model.description.n
    states = math.prod(lead)
    rows = [tensor.detach().to(kind).reshape(states, n) for tensor in tensors]
    precision = np.dtype(str(kind).removeprefix('torch.'))
    if device.type == 'cpu':
        kernel = model.kernel(key, precision, derivatives=derivatives)
        found = torch.from_numpy(kernel([row.numpy() for row in rows], model.threads))
    else:
        with torch.cuda.device(device):
            kernel = model.kernel(key, precision, device.index, derivatives=derivatives)
            found = torch.empty((states, *kernel.shape), dtype=kind, device=device)
            rows = [row if row.stride(1) == 1 else row.contiguous() for row in rows]
            stream = torch.cuda.current_stream().cuda_stream
            places = [(row.data_ptr(), row.stride(0)) for row in rows]
            kernel(stream, states, places, found.data_ptr())
    return found.reshape(*lead, *found.shape[1:]).to(dtype)


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
            raise JointVectorError(
                'BatchModel gives first derivatives; for second ones use TracedModel(arm, torch), '
                'whose equations PyTorch differentiates itself.'
            )
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
