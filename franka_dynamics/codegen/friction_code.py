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
    The friction of one arm, ready to be written in a language.

    `torque` holds an expression per joint in dq[i] and <z e i>, the state of element e; `follow`
    holds (e, i, 1 / reach). `elements` is 0 for a friction without memory.
    """

    torque: tuple[str, ...]
    follow: tuple[tuple[int, int, float], ...]
    elements: int

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
            return cls(
                tuple(
                    f'{a!r} * (0.5 * (1.0 + tanh({0.5 * s!r} * (dq[{i}] + {d!r}))) - {rest!r})'
                    for i, (a, s, d, rest) in enumerate(
                        zip(
                            friction.amplitude.tolist(),
                            friction.slope.tolist(),
                            friction.offset.tolist(),
                            friction.at_rest.tolist(),
                        )
                    )
                ),
                (),
                0,
            )
        if isinstance(friction, ViscousCoulombFriction):
            return cls(
                tuple(
                    f'{v!r} * dq[{i}] + {c!r} * tanh(dq[{i}] / {friction.width!r}) + {o!r}'
                    for i, (v, c, o) in enumerate(friction.coefficients.T.tolist())
                ),
                (),
                0,
            )
        if isinstance(friction, MaxwellSlipFriction):
            elements = len(friction.reach)
            return cls(
                tuple(
                    _sliding(friction, i, *column)
                    for i, column in enumerate(friction.coefficients.T.tolist())
                ),
                tuple(
                    (e, i, 1.0 / reach)
                    for e, reach in enumerate(friction.reach.tolist())
                    for i in range(friction.n)
                ),
                elements,
            )
        raise FrictionError(
            f'A friction model of type {type(friction).__name__} cannot be generated as code.'
        )

    def c(self, prefix: str) -> str:
        """Return C99 functions whose names begin with a prefix."""
        n = len(self.torque)
        state = f'z[{self.elements}][{n}]'
        lines = [
            '/* tau = friction torque at dq. */'
            if not self.elements
            else '/* tau = friction torque at dq, with the elements in the state z. */',
            f'static inline void {prefix}_friction(const double dq[{n}], '
            + (f'double {state}, ' if self.elements else '')
            + f'double tau[{n}])',
            '{',
            *(f'  tau[{i}] = {_placed(text, "z[{}][{}]")};' for i, text in enumerate(self.torque)),
            '}',
            '',
        ]
        if self.elements:
            lines += [
                '/* Moves the state z on by a step of position [rad]; zero is relaxed. Call it',
                ' * with every position as measured, without a filter. */',
                f'static inline void {prefix}_friction_follow(const double step[{n}], '
                f'double {state})',
                '{',
                *(
                    f'  z[{e}][{i}] = fmin(fmax(z[{e}][{i}] + step[{i}] * {factor!r}, -1.0), 1.0);'
                    for e, i, factor in self.follow
                ),
                '}',
                '',
            ]
        return '\n'.join(lines)

    def python(self) -> str:
        """Return functions that plain Python runs and numba.njit compiles."""
        memory = ', z' if self.elements else ''
        lines = [
            f'def friction(dq{memory}, tau):',
            '    """Fill tau with the friction torque at dq'
            + (' and the elements\' state z."""' if self.elements else '."""'),
            *(
                f'    tau[{i}] = ({_placed(text, "z[{}, {}]")})'
                for i, text in enumerate(self.torque)
            ),
        ]
        if self.elements:
            lines += [
                '',
                '',
                'def friction_follow(step, z):',
                '    """Move the elements\' state z on by a step of position [rad]."""',
                *(
                    f'    z[{e}, {i}] = min(max(z[{e}, {i}] + step[{i}] * {factor!r}, -1.0), 1.0)'
                    for e, i, factor in self.follow
                ),
            ]
        return '\n'.join(lines) + '\n'


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
            *(f'{a!r} * <z {e} {i}>' for e, a in enumerate(slip)),
        ]
    )


def _placed(text: str, pattern: str) -> str:
    """Return an expression with <z e i> written as a language writes it."""
    head, *rest = text.split('<z ')
    for part in rest:
        place, _, tail = part.partition('>')
        head += pattern.format(*place.split()) + tail
    return head
