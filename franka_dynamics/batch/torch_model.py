# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches for PyTorch: tensors in and out, gradients from the generated derivatives."""

from __future__ import annotations

from collections.abc import Sequence
import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .slopes import Differentiable, LibraryModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import JointVectorError, MissingDependencyError

try:
    import torch
except ImportError as error:
    raise MissingDependencyError(
        "Tensors need PyTorch: pip install 'franka_dynamics[torch]'"
    ) from error


class TorchModel(LibraryModel):
    """
    An arm's dynamics for tensors; methods as those of `BatchModel`.

    On a processor the kernels of `BatchModel` do the work, on the tensors' own memory: tensors of
    float64 in float64; float32 where all are float32, with the errors that
    docs/howto/gradients.md states; other precisions in float64, rounded once. Gradients are
    analytic, so that a backward pass costs about nine evaluations. They can be taken once: for
    second derivatives, torch.compile and tensors on other devices the equations are traced
    (`TracedModel`).

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as desired.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    threads : int, optional
        As `BatchModel`'s.

    Raises
    ------
    MissingDependencyError
        If PyTorch or numba is not installed (on import of this module).
    JointVectorError
        By the methods, if an argument is not a tensor of real numbers of shape (..., n).

    """

    def __init__(
        self,
        description: ArmDescription,
        gravity: ArrayLike = GRAVITY,
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(description, torch, gravity, threads)

    def _run(self, name: str, *tensors: Any) -> Any:
        quantity = self._quantities[name]
        for argument, tensor in zip(quantity.arguments, tensors):
            if not isinstance(tensor, torch.Tensor):
                raise JointVectorError(
                    f'{argument} is a {type(tensor).__name__}, not a tensor; BatchModel takes '
                    'NumPy arrays.'
                )
            if not tensor.dtype.is_floating_point:
                raise JointVectorError(
                    f'{argument} has the type {tensor.dtype}; give floating-point numbers, such '
                    'as those of .double().'
                )
            if tensor.device != tensors[0].device:
                raise JointVectorError(
                    f'{argument} is on {tensor.device} and {quantity.arguments[0]} on '
                    f'{tensors[0].device}; give all on one device.'
                )
        if tensors[0].device.type == 'cpu':
            return _KernelFunction.apply(quantity, *tensors)
        if name == 'flange_pose':
            raise JointVectorError('flange_pose takes tensors of the processor (device cpu).')
        return getattr(self.traced, name)(*tensors)


def _as_array(tensor: Any) -> np.ndarray:
    """Return a tensor's numbers: where they are, if they are float32 or float64."""
    held = tensor.detach()
    if held.dtype != torch.float32:
        held = held.to(torch.float64)
    array: np.ndarray = held.numpy()
    return array


def _as_tensor(array: np.ndarray, like: Sequence[Any]) -> Any:
    """Return an array as a tensor of the type that these tensors have together."""
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in like))
    return torch.from_numpy(array).to(dtype)


def _stacked(info: Any, in_dims: tuple[Any, ...], tensors: tuple[Any, ...]) -> list[Any]:
    """Return tensors with the mapped axis first, those without one repeated along it."""
    return [
        tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, in_dims)
    ]


class _Slopes(torch.autograd.Function):
    """A quantity's derivatives, shape (..., *shape, n) for each argument."""

    @staticmethod
    def forward(quantity: Differentiable, *tensors: Any) -> tuple[Any, ...]:
        slopes = quantity.slopes(*map(_as_array, tensors))
        return tuple(_as_tensor(np.ascontiguousarray(slope), tensors) for slope in slopes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise JointVectorError(
            'TorchModel gives first derivatives; for second ones use its `traced`, whose '
            'equations PyTorch differentiates itself.'
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], quantity: Differentiable, *tensors: Any) -> Any:
        found = _Slopes.apply(quantity, *_stacked(info, in_dims[1:], tensors))
        return found, (0,) * len(found)


class _KernelFunction(torch.autograd.Function):
    """A compiled quantity as a node of PyTorch's graph."""

    @staticmethod
    def forward(quantity: Differentiable, *tensors: Any) -> Any:
        return _as_tensor(quantity.value(*map(_as_array, tensors)), tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.quantity = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        slopes = _Slopes.apply(ctx.quantity, *ctx.saved_tensors)
        letters = 'ab'[: len(ctx.quantity.shape)]
        equation = f'...{letters},...{letters}k->...k'
        return (
            None,
            *(
                torch.einsum(equation, grad, slope) if needed else None
                for slope, needed in zip(slopes, ctx.needs_input_grad[1:])
            ),
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], quantity: Differentiable, *tensors: Any) -> Any:
        return _KernelFunction.apply(quantity, *_stacked(info, in_dims[1:], tensors)), 0
