# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's dynamics as straight-line code in the operations of any array library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
import functools
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from .batch_model import BatchModel, description_or_tree
from ..arm import ArmDescription
from ..arrays import require_states
from ..codegen.emit import python_callable
from ..codegen.equations import customised_equations, Quantity
from ..dynamics.body_tree import BodyTree
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import JointVectorError


class LibraryModel(ABC):
    """Base class of models for arrays of any library; subclasses define `_run`."""

    def inverse_dynamics(self, q: Any, dq: Any, ddq: Any) -> Any:
        """Return torques M ddq + C dq + g, shape (..., n) [N m]."""
        return self._run(Quantity.INVERSE_DYNAMICS, q, dq, ddq)

    def nonlinear_effects(self, q: Any, dq: Any) -> Any:
        """Return Coriolis plus gravity torques C dq + g, shape (..., n) [N m]."""
        return self._run(Quantity.NONLINEAR_EFFECTS, q, dq)

    def coriolis(self, q: Any, dq: Any) -> Any:
        """Return Coriolis torques C dq, shape (..., n) [N m]."""
        return self._run(Quantity.CORIOLIS, q, dq)

    def gravity(self, q: Any) -> Any:
        """Return gravity torques g, shape (..., n) [N m]."""
        return self._run(Quantity.GRAVITY, q)

    def mass_matrix(self, q: Any) -> Any:
        """Return mass matrices M, shape (..., n, n) [kg m^2]."""
        return self._run(Quantity.MASS_MATRIX, q)

    def forward_dynamics(self, q: Any, dq: Any, tau: Any) -> Any:
        """Return accelerations M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        return self._run(Quantity.FORWARD_DYNAMICS, q, dq, tau)

    def flange_pose(self, q: Any) -> Any:
        """Return the flange's poses in the space frame, shape (..., 4, 4)."""
        return self._run(Quantity.FLANGE_POSE, q)

    @abstractmethod
    def _run(self, quantity: Quantity, *arrays: Any) -> Any:
        """Return a quantity for given arrays, as an array of the same library."""


class TracedModel(LibraryModel):
    """
    An arm's dynamics in an array library's own operations; methods named as those of `BatchModel`.

    The generated equations are run on one array per joint and input: sines, cosines, products,
    sums and (in forward dynamics) reciprocals that the library can trace, compile and
    differentiate (jax.jit, vmap, grad; torch.compile, autograd), on the device and in the
    precision of the given arrays. With NumPy the results are a slow reference for `BatchModel`;
    on a CPU `TorchModel` and `JaxModel` are faster than this class.

    States have shape (..., n), equal for all arguments of a call, and a floating-point type. A
    state with a value that is not finite gives NaN in this state's result alone. With `columns`
    states have shape (n, ...), and results (n, ...), (n, n, ...), (3, n, n, ...) or (4, 4, ...): a
    joint's values follow each other in memory, as compiled code (torch.compile) reads fastest.
    Call a method once before you pass the method to torch.compile, which cannot trace the code
    generator that the first call runs.

    Parameters
    ----------
    description : ArmDescription, str, Path or BodyTree
        The arm with hand and payload, or a tree of bodies, as for `BatchModel`.
    xp : module
        The library: numpy, jax.numpy, torch, cupy; anything with sin, cos and stack.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    columns : bool
        Whether the joints are the first axis rather than the last.

    """

    def __init__(
        self,
        description: ArmDescription | BodyTree | str | Path,
        xp: Any,
        gravity: ArrayLike = GRAVITY,
        *,
        columns: bool = False,
    ) -> None:
        missing = [name for name in ('sin', 'cos', 'stack') if not hasattr(xp, name)]
        if missing:
            raise JointVectorError(
                f'{getattr(xp, "__name__", type(xp).__name__)} has no {missing[0]}; give the '
                'module of an array library, such as jax.numpy or torch.'
            )
        self.description = description_or_tree(description)
        self.xp, self.columns = xp, columns
        self._gravity = tuple(float(part) for part in gravity_vector(gravity))
        # A quantity's function is kept after the first call, because torch.compile cannot trace
        # the code generator.
        self._functions: dict[Quantity, _Function] = {}

    def inverse_dynamics_derivatives(self, q: Any, dq: Any, ddq: Any) -> Any:
        """Return the derivatives of `inverse_dynamics` by q, dq, ddq, shape (..., 3, n, n)."""
        return self._run(Quantity.DERIVATIVES, q, dq, ddq)

    def _run(self, quantity: Quantity, *arrays: Any) -> Any:
        if quantity not in self._functions:
            self._functions[quantity] = _function(
                self.description, quantity, self._gravity, self.xp
            )
        function, names, shape = self._functions[quantity]
        columns = self._columns(dict(zip(names, arrays)))
        # Added to every result: NaN for a state that is not finite, else zero.
        zero = 0.0 * sum(column for listed in columns for column in listed)
        elements: dict[Any, Any] = {}
        function(*columns, elements)

        def stacked(place: tuple[int, ...]) -> Any:
            axes = len(shape) - len(place)
            if not axes:
                return zero + elements.get(place if len(place) > 1 else place[0], 0.0)
            parts = [stacked((*place, k)) for k in range(shape[-axes])]
            return self.xp.stack(parts, 0 if self.columns else -axes)

        return stacked(())

    def _columns(self, states: dict[str, Any]) -> list[list[Any]]:
        for name, values in states.items():
            if 'float' not in str(getattr(values, 'dtype', '')):
                raise JointVectorError(
                    f'{name} is not an array of a floating-point type of {self.xp.__name__}.'
                )
        shapes = {name: tuple(values.shape) for name, values in states.items()}
        require_states(shapes, self.description.joint_names, first_axis=self.columns)
        joints = range(self.description.n)
        return [[x[k] if self.columns else x[..., k] for k in joints] for x in states.values()]


class KernelModel(LibraryModel):
    """
    Base class of models that give another library's arrays to the kernels of `BatchModel`.

    `traced` is a `TracedModel` of the same arm in the operations of the library `xp`.
    """

    xp: ClassVar[Any]

    def __init__(
        self,
        description: ArmDescription | BodyTree | str | Path,
        gravity: ArrayLike = GRAVITY,
        *,
        threads: int | None = None,
    ) -> None:
        self.traced = TracedModel(description, self.xp, gravity)
        self.description = self.traced.description
        self._model = BatchModel(self.description, gravity, threads=threads)


# A quantity's function, which takes each input's columns and a dict, and fills the dict with the
# result's elements by index; its inputs' names; the shape of its result for one state.
_Function = tuple[Callable[..., None], tuple[str, ...], tuple[int, ...]]


@functools.lru_cache(maxsize=64)
def _function(
    description: ArmDescription | BodyTree, quantity: Quantity, gravity: tuple[float, ...], xp: Any
) -> _Function:
    """Return a quantity's function in `xp`'s operations, its inputs' names, its result's shape."""
    equations = customised_equations(description, quantity, gravity)
    return python_callable(equations, xp.sin, xp.cos), equations.arrays, equations.shape
