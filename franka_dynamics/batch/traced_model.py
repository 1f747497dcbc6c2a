# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's dynamics as straight-line code in the operations of any array library."""

from collections.abc import Callable
import sys
from typing import Any

from .generated_model import EquationsKey, GeneratedModel
from ..arrays import ArrayLike
from ..codegen.python_code import python_callable
from ..dynamics.body_tree import RobotLike
from ..dynamics.model import GRAVITY
from ..errors import JointVectorError
from ..names import Quantity


class TracedModel(GeneratedModel):
    """
    An arm's dynamics in an array library's own operations, with the methods of `fd.Model`.

    The generated equations are run on one array per joint and input: sines, cosines, products,
    sums and (in forward dynamics) reciprocals that the library can trace, compile and
    differentiate (jax.jit, vmap, grad; torch.compile, autograd), on the device and in the
    precision of the given arrays. On CPUs and NVIDIA GPUs `BatchModel` is faster: this class is
    for other devices and second derivatives.

    States have shape (..., n) and a floating-point type; leading axes broadcast. A state with a
    value that is not finite gives NaN in this state's result alone. Code compiled by the library
    (torch.compile) reads arrays fastest in which a joint's values follow each other in memory:
    transposes of contiguous (n, N) arrays. Call a method once before you pass the method to
    torch.compile, which cannot trace the code generator that the first call runs.

    Parameters
    ----------
    description : ArmDescription, str, Path or BodyTree
        The arm with hand and payload, or a tree of bodies, as for `BatchModel`.
    xp : module
        The library, such as numpy, jax.numpy, torch or cupy.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    """

    def __init__(self, description: RobotLike, xp: Any, gravity: ArrayLike = GRAVITY) -> None:
        needed = ('sin', 'cos', 'sqrt', 'stack', 'where', 'isfinite')
        missing = [name for name in needed if not hasattr(xp, name)]
        if missing:
            raise JointVectorError(
                f'{getattr(xp, "__name__", type(xp).__name__)} has no {missing[0]}; give the '
                'module of an array library, such as jax.numpy or torch.'
            )
        super().__init__(description, gravity)
        self.xp = xp
        # Functions that were called, because torch.compile cannot trace the code generator.
        self._functions: dict[EquationsKey, tuple[Callable[..., None], tuple[int, ...]]] = {}

    def library(self, *given: Any) -> Any:
        """Return the model itself, which has `xp` and `as_array` of its own array library."""
        return self

    def evaluate(self, quantity: Quantity, *given: Any, **options: Any) -> Any:
        """Return a quantity at states (..., n); `options` are those of `customised_equations`."""
        key = self._key_of(quantity, len(given), options)
        if key not in self._functions:
            equations = key.equations(self.description, self._gravity)
            self._functions[key] = python_callable(equations, self.xp), equations.shape
        function, shape = self._functions[key]
        n = self.description.n
        arrays, _ = self._read_states(key.quantity, given, self.as_array)
        states = [[array[..., k] for k in range(n)] for array in arrays]
        # Added to every result: NaN for a state that is not finite, else zero.
        zero = 0.0 * sum(values for each in states for values in each)
        elements: dict[Any, Any] = {}
        function(*states, elements)
        if self.xp.__name__ == 'jax.numpy':
            # XLA else computes the equations again for every element of a stack.
            values = sys.modules['jax'].lax.optimization_barrier([*elements.values()])
            elements = dict(zip(elements, values))

        def stacked_output(place: tuple[int, ...]) -> Any:
            """Return the subarray of the result at the first indices `place`."""
            axes = len(shape) - len(place)
            if not axes:
                return zero + elements.get(place if len(place) > 1 else place[0], 0.0)
            parts = [stacked_output((*place, k)) for k in range(shape[-axes])]
            return self.xp.stack(parts, -axes)

        return stacked_output(())

    def as_array(self, values: Any) -> Any:
        """Return an array of floating-point numbers as it is; TypeError for anything else."""
        if 'float' not in str(getattr(values, 'dtype', '')):
            raise TypeError(f'give one of a floating-point type of {self.xp.__name__}.')
        return values
