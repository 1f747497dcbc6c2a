# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's friction as source code: its torque, and the step of its Maxwell-slip elements."""

from __future__ import annotations

from dataclasses import dataclass

from ..arm.friction import (
    FrictionModel,
    MaxwellSlipFriction,
    SigmoidFriction,
    ViscousCoulombFriction,
)
from ..errors import FrictionError


@dataclass(frozen=True)
class FrictionCode:
    """
    The friction of one arm, in expressions that C and Python read alike.

    `torque` holds one per joint, of dq[i] and z[e][i], the state of element e; `reach` [rad] those
    of the elements, none for a friction without memory.
    """

    torque: tuple[str, ...]
    reach: tuple[float, ...] = ()

    @classmethod
    def of(cls, friction: FrictionModel) -> FrictionCode:
        """
        Return the code of a friction model.

        Raises
        ------
        FrictionError
            If it is none of the arm file's models.

        """
        if isinstance(friction, SigmoidFriction):
            rows = (friction.amplitude, friction.slope, friction.offset, friction.at_rest)
            return cls(
                tuple(
                    f'{a!r} * (0.5 * (1.0 + tanh({0.5 * s!r} * (dq[{i}] + {d!r}))) - {rest!r})'
                    for i, (a, s, d, rest) in enumerate(zip(*(row.tolist() for row in rows)))
                )
            )
        if isinstance(friction, ViscousCoulombFriction):
            return cls(
                tuple(
                    f'{v!r} * dq[{i}] + {c!r} * tanh(dq[{i}] / {friction.width!r}) + {o!r}'
                    for i, (v, c, o) in enumerate(friction.coefficients.T.tolist())
                )
            )
        if isinstance(friction, MaxwellSlipFriction):
            return cls(
                tuple(
                    _sliding(friction, i, *column)
                    for i, column in enumerate(friction.coefficients.T.tolist())
                ),
                tuple(friction.reach.tolist()),
            )
        raise FrictionError(
            f'A friction model of type {type(friction).__name__} cannot be generated as code.'
        )

    def c(self, prefix: str) -> str:
        """Return C99 functions whose names begin with a prefix."""
        n, state = len(self.torque), f'double z[{len(self.reach)}][{len(self.torque)}]'
        memory, said = (
            (f'{state}, ', ', with the elements in the state z') if self.reach else ('', '')
        )
        lines = [
            f'/* tau = friction torque at dq{said}. */',
            f'static inline void {prefix}_friction(const double dq[{n}], {memory}double tau[{n}])',
            '{',
            *(f'  tau[{i}] = {text};' for i, text in enumerate(self.torque)),
            '}',
            '',
        ]
        if self.reach:
            lines += [
                '/* Moves the state z on by a step of position [rad]; zero is relaxed. Call it',
                ' * with every position as measured, without a filter. */',
                f'static inline void {prefix}_friction_follow(const double step[{n}], {state})',
                '{',
                *(f'  {line};' for line in self._follow('fmin(fmax({}, -1.0), 1.0)')),
                '}',
                '',
            ]
        return '\n'.join(lines)

    def python(self) -> str:
        """Return functions that plain Python runs and numba.njit compiles."""
        memory, said = (', z', " and the elements' state z") if self.reach else ('', '')
        lines = [
            f'def friction(dq{memory}, tau):',
            f'    """Fill tau with the friction torque at dq{said}."""',
            *(f'    tau[{i}] = ({text})' for i, text in enumerate(self.torque)),
        ]
        if self.reach:
            lines += [
                '',
                '',
                'def friction_follow(step, z):',
                '    """Move the elements\' state z on by a step of position [rad]."""',
                *(f'    {line}' for line in self._follow('min(max({}, -1.0), 1.0)')),
            ]
        return '\n'.join(lines) + '\n'

    def _follow(self, clipped: str) -> list[str]:
        return [
            f'z[{e}][{i}] = {clipped.format(f"z[{e}][{i}] + step[{i}] * {1.0 / reach!r}")}'
            for e, reach in enumerate(self.reach)
            for i in range(len(self.torque))
        ]


def _sliding(
    friction: MaxwellSlipFriction,
    i: int,
    viscous: float,
    coulomb: float,
    stribeck: float,
    offset: float,
    *slip: float,
) -> str:
    speed = f'dq[{i}] / {friction.stribeck_velocity!r}'
    peak = f' + {stribeck!r} * exp(-({speed}) * ({speed}))' if stribeck else ''
    return ' + '.join(
        [
            f'{viscous!r} * dq[{i}]',
            f'({coulomb!r}{peak}) * tanh(dq[{i}] / {friction.width!r})',
            f'{offset!r}',
            *(f'{a!r} * z[{e}][{i}]' for e, a in enumerate(slip)),
        ]
    )
