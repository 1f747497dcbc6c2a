# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches for PyTorch: tensors in and out, gradients from the generated derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import functools
from typing import Any

import numpy as np

from .traced_model import KernelModel
from ..codegen.equations import Quantity
from ..errors import JointVectorError, require_extra

with require_extra('Tensors need PyTorch', 'torch'):
    import torch


class TorchModel(KernelModel):
    """
    An arm's dynamics for PyTorch tensors: the methods of `fd.Model`, with gradients.

    On a CPU the kernels of `BatchModel` compute in float32 if all tensors are float32, with the
    errors that docs/howto/gradients.md states, else in float64. Contiguous tensors of the kernels'
    type are not copied; results for tensors of lower precision are float64 results, rounded. A
    backward pass evaluates the analytic first derivatives; for second derivatives and
    torch.compile use `traced`. Methods pass tensors that are not on the CPU to `traced`.

    Raises
    ------
    MissingDependencyError
        If PyTorch is not installed (on import of this module).
    JointVectorError
        By the methods, if an argument is not a tensor of real numbers of shape (..., n).

    """

    xp = torch

    def _read(self, values: Any) -> Any:
        if not isinstance(values, torch.Tensor) or not values.dtype.is_floating_point:
            kind = getattr(values, 'dtype', type(values).__name__)
            raise TypeError(f'{kind}; give a tensor of floating-point numbers, as of .double().')
        return values

    def evaluate(
        self, quantity: Quantity, *arrays: Any, columns: tuple[int, ...] | None = None
    ) -> Any:
        """Return a quantity at states (..., n): on a CPU by BatchModel, elsewhere by `traced`."""
        tensors, _ = self._states(quantity, arrays)
        if len({tensor.device for tensor in tensors}) > 1:
            listed = ', '.join(f'{tensor.device}' for tensor in tensors)
            raise JointVectorError(f'The tensors are on {listed}; give all on one device.')
        if tensors[0].device.type == 'cpu':
            evaluate = functools.partial(self._model.evaluate, quantity, columns=columns)
            return _KernelFunction.apply(evaluate, False, *torch.broadcast_tensors(*tensors))
        return self.traced.evaluate(quantity, *arrays, columns=columns)


def _as_array(tensor: Any) -> np.ndarray:
    """Return a tensor as an array, without a copy if it is float32 or float64."""
    held = tensor.detach()
    if held.dtype != torch.float32:
        held = held.to(torch.float64)
    array: np.ndarray = held.numpy()
    return array


def _as_tensor(array: np.ndarray, like: Sequence[Any]) -> Any:
    """Return an array as a tensor of the promoted type of the tensors in `like`."""
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in like))
    return torch.from_numpy(array).to(dtype)


class _KernelFunction(torch.autograd.Function):
    """
    A node of PyTorch's autograd graph: a quantity, or with `derivatives` its first derivatives.

    `evaluate(*arrays, derivatives=...)` computes them.
    """

    @staticmethod
    def forward(evaluate: Callable[..., Any], derivatives: bool, *tensors: Any) -> Any:
        return _as_tensor(evaluate(*map(_as_array, tensors), derivatives=derivatives), tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.evaluate, ctx.derivatives = inputs[:2]
        ctx.save_for_backward(*inputs[2:])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        if ctx.derivatives:
            raise JointVectorError(
                'TorchModel gives first derivatives; for second ones use its `traced`, whose '
                'equations PyTorch differentiates itself.'
            )
        tensors = ctx.saved_tensors
        derivatives = _KernelFunction.apply(ctx.evaluate, True, *tensors)
        letters = 'abc'[: derivatives.ndim - tensors[0].ndim]
        found = torch.einsum(f'...{letters},...{letters}k->...k', grad, derivatives)
        return (None, None, *found.split(tensors[0].shape[-1], -1))

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[Any, ...],
        evaluate: Callable[..., Any],
        derivatives: bool,
        *tensors: Any,
    ) -> Any:
        # The axis of vmap comes first; tensors without this axis are repeated along it.
        stacked = [
            tensor.expand(info.batch_size, *tensor.shape)
            if dim is None
            else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors, in_dims[2:])
        ]
        return _KernelFunction.apply(evaluate, derivatives, *stacked), 0
