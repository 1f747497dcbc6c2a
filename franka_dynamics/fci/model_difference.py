# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Our model against the one that libfranka loads from the robot, at the same states."""

from __future__ import annotations

from collections.abc import Mapping
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
    """
    The largest difference of a term, where it was found, and the term's own largest value.

    `excess` says where it is the most beyond what is allowed, if it is beyond.
    """

    largest: float
    scale: float
    where: str
    unit: str
    excess: str

    def __str__(self) -> str:
        """Return it in words."""
        return f'{self.largest:.3g} {self.unit} (of {self.scale:.3g}) at {self.where}'


@dataclass(frozen=True)
class ModelDifference:
    """
    Differences over all states.

    `terms` are those of M, C dq, g and the end effector's Jacobian; `place` is how far away that
    is at the state that was read [m]. It is only told: franka-sim says it is 0.107 m away, where
    the Jacobians agree to rounding.
    """

    states: int
    terms: Mapping[str, TermDifference]
    place: float

    def refusal(self) -> str:
        """Return why our torques should not be commanded on this robot, or an empty text."""
        reasons = [term.excess for term in self.terms.values() if term.excess]
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
    loaded: Any, state: Any, ours: PinocchioModel, allowed: ArrayLike, *, count: int = 100
) -> ModelDifference:
    """
    Compare at random states within the joint limits.

    M and C dq may differ by 0.3 of their own largest values, the Jacobian by a centimetre.

    Parameters
    ----------
    loaded : pylibfranka.Model
        What `Robot.load_model` returned.
    state : pylibfranka.RobotState
        A state as read, whose end effector and load are kept; the rest is overwritten.
    ours : PinocchioModel
        The arm with what the robot knows that it carries, upright, as the robot assumes it to be.
    allowed : float or ndarray, shape (7,)
        By how much g may differ [N m].
    count : int
        How many states.

    """
    rng = np.random.default_rng(0)
    description = ours.description
    lower, upper = description.limit('lower'), description.limit('upper')
    speed, n = description.limit('velocity'), description.n
    tool = np.reshape(state.F_T_EE, (4, 4), order='F')
    measured = np.reshape(state.O_T_EE, (4, 4), order='F')
    place = np.abs(measured - ours.frames(np.array(state.q))[-1] @ tool)[:3, 3].max()
    rows = []
    # libfranka takes gravity from the measured acceleration of the base, which a simulated
    # robot may leave at zero.
    state.O_ddP_O = list(GRAVITY)
    for _ in range(count):
        q, dq = rng.uniform(lower, upper), rng.uniform(-speed, speed)
        state.q, state.dq = q.tolist(), dq.tolist()
        rows.append(
            (
                (np.reshape(loaded.mass(state), (n, n)), ours.mass_matrix(q)),
                (np.array(loaded.coriolis(state)), ours.coriolis_matrix(q, dq) @ dq),
                (np.array(loaded.gravity(state)), ours.gravity(q)),
                (
                    np.reshape(loaded.zero_jacobian(state), (6, n), order='F'),
                    _at_tool(ours.jacobian(q), ours.frames(q)[-1], tool),
                ),
            )
        )
    terms = {}
    for (name, unit), pairs in zip(_UNITS.items(), zip(*rows)):
        theirs, own = (np.array(values) for values in zip(*pairs))
        apart, scale = np.abs(theirs - own), float(np.abs(theirs).max())
        most = {'g': allowed, 'Jacobian': _MOST_LEVER}.get(name, _MOST_RELATIVE * scale)
        # Never zero: zero of zero would be no number, and pass for the worst.
        bounds = np.broadcast_to(np.maximum(most, np.finfo(float).eps), apart.shape)
        largest, worst = (
            np.unravel_index(np.argmax(of), of.shape) for of in (apart, apart / bounds)
        )
        where, beyond = (
            '/'.join(description.joint_names[i] for i in at[1:]) for at in (largest, worst)
        )
        excess = (
            f'{name} differs by {apart[worst]:.3g} {unit} at {beyond} '
            f'({bounds[worst]:.3g} allowed)'
        )
        terms[name] = TermDifference(
            float(apart[largest]),
            scale,
            where,
            unit,
            '' if apart[worst] <= bounds[worst] else excess,
        )
    return ModelDifference(count, terms, float(place))


def _at_tool(jacobian: Array, flange: Array, tool: Array) -> Array:
    """Return the (6, n) Jacobian (v, omega) of a point that the flange carries."""
    lever = flange[:3, :3] @ tool[:3, 3]
    moved = jacobian.copy()
    moved[:3] += np.cross(jacobian[3:], lever, axis=0)
    return moved
