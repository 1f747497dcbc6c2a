# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Our model against the one that libfranka loads from the robot, at the same states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..typing import Array


@dataclass(frozen=True)
class TermDifference:
    """The largest difference of a term, where it was found, and the term's own largest value."""

    largest: float
    scale: float
    where: str


@dataclass(frozen=True)
class ModelDifference:
    """Differences over all states: M [kg m^2], C dq and g [N m]."""

    states: int
    mass: TermDifference
    coriolis: TermDifference
    gravity: TermDifference

    def sentence(self) -> str:
        """Return all of it in one sentence."""
        return (f'against the model that libfranka loads, over {self.states} states: M differs by '
                f'up to {self.mass.largest:.2e} kg m^2 (of {self.mass.scale:.3g}) at '
                f'{self.mass.where}, C dq by {self.coriolis.largest:.2e} N m (of '
                f'{self.coriolis.scale:.3g}) at {self.coriolis.where}, g by '
                f'{self.gravity.largest:.2e} N m (of {self.gravity.scale:.3g}) at '
                f'{self.gravity.where}')


def compare_models(loaded: Any, state: Any, ours: PinocchioModel, *, count: int = 100,
                   seed: int = 0) -> ModelDifference:
    """
    Compare at random states within the joint limits.

    Parameters
    ----------
    loaded : pylibfranka.Model
        What `Robot.load_model` returned.
    state : pylibfranka.RobotState
        A state as read, whose end effector and load are kept; the rest is overwritten.
    ours : PinocchioModel
        The arm with what it carries.
    count : int
        How many states.
    seed : int
        Of the states.

    """
    rng = np.random.default_rng(seed)
    description = ours.description
    lower, upper = description.limit('lower'), description.limit('upper')
    speed = description.limit('velocity')
    n = description.n
    rows: dict[str, list[tuple[Array, Array]]] = {'mass': [], 'coriolis': [], 'gravity': []}
    # libfranka takes gravity from the measured acceleration of the base, which a simulated
    # robot may leave at zero.
    state.O_ddP_O = list(GRAVITY)
    for _ in range(count):
        q, dq = rng.uniform(lower, upper), rng.uniform(-speed, speed)
        state.q, state.dq = q.tolist(), dq.tolist()
        rows['mass'].append((np.reshape(loaded.mass(state), (n, n)), ours.mass_matrix(q)))
        rows['coriolis'].append((np.array(loaded.coriolis(state)),
                                 ours.coriolis_matrix(q, dq) @ dq))
        rows['gravity'].append((np.array(loaded.gravity(state)), ours.gravity(q)))
    names = description.joint_names
    return ModelDifference(count, **{
        term: _difference(np.array([pair[0] for pair in pairs]),
                          np.array([pair[1] for pair in pairs]), names)
        for term, pairs in rows.items()})


def _difference(theirs: Array, ours: Array, names: tuple[str, ...]) -> TermDifference:
    apart = np.abs(theirs - ours)
    worst = np.unravel_index(np.argmax(apart), apart.shape)
    return TermDifference(float(apart.max()), float(np.abs(theirs).max()),
                          '/'.join(names[i] for i in worst[1:]))
