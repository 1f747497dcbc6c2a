# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Our model against the one that libfranka loads from the robot, at the same states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.model import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..typing import Array

# The two published sets of a FER differ by 0.18 of M's and C dq's largest values.
_MOST_RELATIVE = 0.3
# [m/rad] Of one geometry they agree to rounding; another flange is centimetres away.
_MOST_LEVER = 0.01
_UNITS = {'M': 'kg m^2', 'C dq': 'N m', 'g': 'N m', 'Jacobian': 'm'}


@dataclass(frozen=True)
class TermDifference:
    """The largest difference of a term, where it was found, and the term's own largest value."""

    largest: float
    scale: float
    where: str
    unit: str

    def __str__(self) -> str:
        """Return it in words."""
        return f'{self.largest:.3g} {self.unit} (of {self.scale:.3g}) at {self.where}'


@dataclass(frozen=True)
class ModelDifference:
    """
    Differences over all states.

    `terms` are those of M, C dq, g and the end effector's Jacobian; `place` is how far away that
    is at the state that was read [m]. `gravity_excess` says how far g differs, and where, if it
    is more than is allowed.
    """

    states: int
    terms: Mapping[str, TermDifference]
    place: float
    gravity_excess: str = ''

    def refusal(self) -> str:
        """
        Return why torques should not be computed from our model on this robot, or an empty text.

        That is so where g differs by more than was allowed at any joint, or M or C dq by more
        than 0.3 of their own largest value, or where the end effector's Jacobian differs by a
        centimetre. Its place is only told: franka-sim says it is 0.107 m away, where the Jacobians
        agree to rounding.
        """
        reasons = [self.gravity_excess] if self.gravity_excess else []
        for name in ('M', 'C dq', 'Jacobian'):
            term = self.terms[name]
            most = _MOST_LEVER if name == 'Jacobian' else _MOST_RELATIVE * term.scale
            if not term.largest <= most:
                reasons.append(f'{name} differs by {term}')
        if not reasons:
            return ''
        return (
            "this node's model is not the one the robot serves: "
            + ', '.join(reasons)
            + '; check robot_type, inertial_set, hand and payload'
        )

    def sentence(self) -> str:
        """Return all of it in one sentence."""
        terms = ', '.join(f'{name} differs by up to {term}' for name, term in self.terms.items())
        return (
            f'against the model that libfranka loads, over {self.states} states: {terms}, and the '
            f'end effector is {self.place:.2e} m away'
        )


def compare_models(
    loaded: Any,
    state: Any,
    ours: PinocchioModel,
    *,
    count: int = 100,
    allowed: ArrayLike = np.inf,
) -> ModelDifference:
    """
    Compare at random states within the joint limits.

    Parameters
    ----------
    loaded : pylibfranka.Model
        What `Robot.load_model` returned.
    state : pylibfranka.RobotState
        A state as read, whose end effector and load are kept; the rest is overwritten.
    ours : PinocchioModel
        The arm with what the robot knows that it carries, upright, as the robot assumes it to be.
    count : int
        How many states.
    allowed : float or ndarray, shape (7,)
        Largest difference of g that `refusal` bears [N m].

    """
    rng = np.random.default_rng(0)
    description = ours.description
    lower, upper = description.limit('lower'), description.limit('upper')
    speed = description.limit('velocity')
    n = description.n
    tool = np.reshape(state.F_T_EE, (4, 4), order='F')
    measured = np.reshape(state.O_T_EE, (4, 4), order='F')
    place = float(
        np.abs(measured - ours.frames(np.array(state.q))[-1] @ tool)[:3, 3].max(initial=0.0)
    )
    rows: dict[str, list[tuple[Array, Array]]] = {name: [] for name in _UNITS}
    # libfranka takes gravity from the measured acceleration of the base, which a simulated
    # robot may leave at zero.
    state.O_ddP_O = list(GRAVITY)
    for _ in range(count):
        q, dq = rng.uniform(lower, upper), rng.uniform(-speed, speed)
        state.q, state.dq = q.tolist(), dq.tolist()
        pairs = (
            (np.reshape(loaded.mass(state), (n, n)), ours.mass_matrix(q)),
            (np.array(loaded.coriolis(state)), ours.coriolis_matrix(q, dq) @ dq),
            (np.array(loaded.gravity(state)), ours.gravity(q)),
            (
                np.reshape(loaded.zero_jacobian(state), (6, n), order='F'),
                _at_tool(ours.jacobian(q), ours.frames(q)[-1], tool),
            ),
        )
        for pair, found in zip(pairs, rows.values()):
            found.append(pair)
    names = description.joint_names
    excess = np.abs([theirs - own for theirs, own in rows['g']]).max(axis=0)
    allowed = np.broadcast_to(np.asarray(allowed, dtype=float), excess.shape)
    joint = int(np.argmax(excess / allowed))
    return ModelDifference(
        count,
        {name: _difference(pairs, names, _UNITS[name]) for name, pairs in rows.items()},
        place,
        gravity_excess=f'g differs by {excess[joint]:.3g} N m at {names[joint]} '
        f'({allowed[joint]:.3g} allowed)'
        if not excess[joint] <= allowed[joint]
        else '',
    )


def _at_tool(jacobian: Array, flange: Array, tool: Array) -> Array:
    """Return the (6, n) Jacobian (v, omega) of a point that the flange carries."""
    lever = flange[:3, :3] @ tool[:3, 3]
    moved = jacobian.copy()
    moved[:3] += np.cross(jacobian[3:], lever, axis=0)
    return moved


def _difference(
    pairs: Sequence[tuple[Array, Array]], names: tuple[str, ...], unit: str
) -> TermDifference:
    theirs, ours = (np.array(values) for values in zip(*pairs))
    apart = np.abs(theirs - ours)
    worst = np.unravel_index(np.argmax(apart), apart.shape)
    where = '/'.join(names[i] for i in worst[1:])
    return TermDifference(float(apart.max()), float(np.abs(theirs).max()), where, unit)
