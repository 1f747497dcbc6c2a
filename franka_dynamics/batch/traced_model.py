# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's dynamics as straight-line functions of arrays of any library."""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..codegen.emit import python_function
from ..codegen.equations import customised_equations, Quantity
from ..dynamics.model import GRAVITY, gravity_vector
from ..errors import JointVectorError

_SHAPES = {Quantity.MASS_MATRIX: 2, Quantity.DERIVATIVES: 3}


class TracedModel:
    """
    An arm's dynamics in an array library's own operations; methods as those of `BatchModel`.

    The generated equations are run on columns: sines, cosines, products and sums that the library
    can trace, compile and differentiate (jax.jit, vmap, grad; torch.compile, autograd), on the
    device where its arrays are and in their precision. With NumPy they are a slow reference for
    `BatchModel`; on a processor `TorchModel` and `JaxModel` are the fast ways.

    Stacks have shape (..., n), equal for all arguments of a call, of a floating-point type. A
    state with a value that is not finite gives NaN in its own result and in no other. With
    `columns` they have shape (n, ...), and results (n, ...), (n, n, ...) or (3, n, n, ...): a
    joint's values lie one after the other, as compiled code (torch.compile) reads them fastest.
    A method is to be called once before torch.compile takes it: code is generated at its first
    call, which cannot be traced.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand and payload as desired; either convention, revolute and prismatic.
    xp : module
        The library: numpy, jax.numpy, torch, cupy; anything with sin, cos and stack.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    columns : bool
        Whether the joints are the first axis rather than the last.

    """

    def __init__(
        self,
        description: ArmDescription,
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
        self.description = description
        self.xp, self.columns = xp, columns
        self._gravity = tuple(float(part) for part in gravity_vector(gravity))
        # Functions made once, where torch.compile finds them without tracing how they are made.
        self._functions: dict[Quantity, Callable[..., None]] = {}

    def inverse_dynamics(self, q: Any, dq: Any, ddq: Any) -> Any:
        """Return M ddq + C dq + g, shape (..., n) [N m]."""
        return self._run(Quantity.INVERSE_DYNAMICS, q=q, dq=dq, ddq=ddq)

    def nonlinear_effects(self, q: Any, dq: Any) -> Any:
        """Return C dq + g, shape (..., n) [N m]."""
        return self.inverse_dynamics(q, dq, 0.0 * dq)

    def coriolis(self, q: Any, dq: Any) -> Any:
        """Return C dq, shape (..., n) [N m]."""
        return self._run(Quantity.CORIOLIS, q=q, dq=dq)

    def gravity(self, q: Any) -> Any:
        """Return g, shape (..., n) [N m]."""
        return self._run(Quantity.GRAVITY, q=q)

    def mass_matrix(self, q: Any) -> Any:
        """Return M, shape (..., n, n) [kg m^2]."""
        return self._run(Quantity.MASS_MATRIX, q=q)

    def forward_dynamics(self, q: Any, dq: Any, tau: Any) -> Any:
        """Return ddq = M^-1 (tau - C dq - g), shape (..., n) [rad/s^2]."""
        return self._run(Quantity.FORWARD_DYNAMICS, q=q, dq=dq, tau=tau)

    def inverse_dynamics_derivatives(self, q: Any, dq: Any, ddq: Any) -> Any:
        """Return the derivatives of `inverse_dynamics` by q, dq, ddq, shape (..., 3, n, n)."""
        return self._run(Quantity.DERIVATIVES, q=q, dq=dq, ddq=ddq)

    def _run(self, quantity: Quantity, **states: Any) -> Any:
        columns = self._columns(**states)
        # NaN where a state is not finite, also in results that do not depend on that value.
        zero = 0.0 * sum(column for listed in columns.values() for column in listed)
        elements: dict[Any, Any] = {}
        if quantity not in self._functions:
            self._functions[quantity] = _function(
                self.description, quantity, self._gravity, self.xp
            )
        self._functions[quantity](columns, elements)
        n = self.description.n

        def stacked(place: tuple[int, ...], axes: int) -> Any:
            if not axes:
                key = place if len(place) > 1 else place[0]
                return zero + elements.get(key, 0.0)
            size = 3 if axes == 3 else n
            parts = [stacked((*place, k), axes - 1) for k in range(size)]
            return self.xp.stack(parts, 0 if self.columns else -axes)

        return stacked((), _SHAPES.get(quantity, 1))

    def _columns(self, **states: Any) -> dict[str, list[Any]]:
        n, shape = self.description.n, None
        for name, values in states.items():
            found = tuple(getattr(values, 'shape', ()))
            if 'float' not in str(getattr(values, 'dtype', '')):
                raise JointVectorError(
                    f'{name} is not an array of a floating-point type of {self.xp.__name__}.'
                )
            if not found or found[0 if self.columns else -1] != n:
                expected = f'({n}, ...): a row' if self.columns else f'(..., {n}): a column'
                raise JointVectorError(
                    f'{name} has shape {found}, expected {expected} per joint of '
                    f'{self.description.name}, ordered {", ".join(self.description.joint_names)}.'
                )
            if shape is not None and found != shape:
                raise JointVectorError(
                    f'{name} has shape {found} and {next(iter(states))} has {shape}; '
                    'give every state all of its values.'
                )
            shape = found
        return {
            name: [x[k] if self.columns else x[..., k] for k in range(n)]
            for name, x in states.items()
        }


@functools.lru_cache(maxsize=64)
def _function(
    description: ArmDescription, quantity: Quantity, gravity: tuple[float, ...], xp: Any
) -> Callable[..., None]:
    """Return f(columns of the inputs, elements) in a library's terms; it fills a dict by place."""
    program = customised_equations(description, quantity, gravity).program
    names: dict[str, Any] = {'sin': xp.sin, 'cos': xp.cos}
    source = python_function(program)
    exec(compile(source, f'<{quantity.value} of {description.name}>', 'exec'), names)
    function, inputs = names[program.name], tuple(program.inputs)

    def run(columns: dict[str, list[Any]], elements: dict[Any, Any]) -> None:
        function(*(columns[name] for name in inputs), elements)

    return run
