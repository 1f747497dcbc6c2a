# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A difference between two descriptions of an arm, and what it does to joint torques."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
import math

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..arm.friction import friction_along
from ..arm.sampling import JointStates, sample_states
from ..dynamics.model import GRAVITY, gravity_vector
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

# What rounding leaves of a torque, of max(1, |tau|).
NO_EFFECT = 1e-11
_STATES = 200
_PATH_SAMPLES, _PATH_STEP_S = 500, 0.01
JOINT_SIGN = 'joint sign'
_ALL_DIGITS = 17  # tell any two numbers of double precision apart


@dataclass(frozen=True, eq=False)
class Situation:
    """An arm and the gravity [m/s^2] that it is used with."""

    arm: ArmDescription
    gravity: Array


Change = Callable[[Situation], Situation]


@dataclass(frozen=True)
class JointEffect:
    """The largest change of a joint torque over random states, of which joint, and its rms."""

    largest: float
    joint: str
    rms: float

    def __str__(self) -> str:
        """Return the effect in words."""
        if self.largest == 0.0:
            return 'none; no motion shows it'
        return (
            f'up to {self.largest:.3g} N m (at {self.joint}), {self.rms:.3g} N m rms over '
            'the joint vector'
        )


@dataclass(frozen=True)
class Difference:
    """
    One parameter in which two descriptions differ.

    `place` is a joint's name (its row, or the link behind it), 'base', 'flange' or 'arm'; `first`
    and `second` are the two values of `parameter`, in `unit`, and `change` makes the first
    description have the second's.
    `torque_effect` is the largest change of a joint torque [N m or N] that replacing this one
    parameter brings about over random states within the limits; 0.0 if no torque shows it.
    `cause` is the likeliest one, where one is known, and `certain` where it can only be a mistake.
    """

    place: str
    parameter: str
    first: float | str
    second: float | str
    unit: str
    torque_effect: float
    change: Change = field(default=lambda before: before, repr=False, compare=False)
    cause: str = ''
    certain: bool = True

    @property
    def has_effect(self) -> bool:
        """Whether a joint torque depends on it."""
        return self.torque_effect > 0.0

    @property
    def inertial(self) -> bool:
        """Whether it is a number of a link's mass, centre or inertia."""
        return self.parameter.startswith(('mass', 'centre of mass', 'first moment', 'inertia'))

    def __str__(self) -> str:
        """Return the difference as one sentence."""
        effect = (
            f'torque changes by up to {self.torque_effect:.3g} N m'
            if self.has_effect
            else 'no effect on torque'
        )
        cause = f'; likeliest cause: {self.cause}' if self.cause else ''
        here, there = _texts(self.first, self.second)
        return (
            f'{self.place}: {self.parameter} is {here} here and {there} there'
            f'{f" [{self.unit}]" if self.unit else ""}; {effect}{cause}.'
        )

    def as_data(self) -> dict[str, float | str]:
        """Return the difference as plain data."""
        return {
            'place': self.place,
            'parameter': self.parameter,
            'first': self.first,
            'second': self.second,
            'unit': self.unit,
            'torque_effect': self.torque_effect,
            'cause': self.cause,
        }


def on_arm(change: Callable[[ArmDescription], ArmDescription]) -> Change:
    """Return a change of the arm as one of the arm and its gravity."""
    return lambda before: replace(before, arm=change(before.arm))


def effect_together(
    first: ArmDescription,
    found: Sequence[Difference],
    *,
    gravity: ArrayLike = GRAVITY,
    seed: int = 0,
) -> JointEffect:
    """
    Return what several differences do to the torques of the first arm at once.

    Parameters
    ----------
    first : ArmDescription
        The arm of which `compare` found the differences.
    found : sequence of Difference
        All of them, or those that are shown.
    gravity : array_like, shape (3,)
        Gravity that the first is used with [m/s^2].
    seed : int
        Of the random states within the limits.

    """
    after = Situation(first, gravity_vector(gravity))
    # Reversed joints last: the other changes are said in the first arm's own signs.
    for one in sorted(found, key=lambda one: one.parameter == JOINT_SIGN):
        after = one.change(after)
    return effect_between(
        first, after.arm, gravity=gravity, second_gravity=after.gravity, seed=seed
    )


def effect_between(
    first: ArmDescription,
    second: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    second_gravity: ArrayLike | None = None,
    seed: int = 0,
) -> JointEffect:
    """Return how far the torques of two arms are apart; arguments are as for `compare`."""
    field = gravity_vector(gravity)
    before = Situation(first, field)
    after = Situation(second, field if second_gravity is None else gravity_vector(second_gravity))
    states = sample_states(first, _STATES, seed)
    torques = torque(before, states)
    apart = torque(after, states) - torques
    apart[np.abs(apart) <= NO_EFFECT * max(1.0, float(np.abs(torques).max()))] = 0.0
    worst = np.abs(apart).max(axis=0)
    apart = apart[:_STATES]
    return JointEffect(
        float(worst.max()),
        first.joint_names[int(worst.argmax())],
        float(np.sqrt(np.mean(np.sum(apart * apart, axis=1)))),
    )


def torque(situation: Situation, states: JointStates) -> Array:
    """
    Return rigid-body torque and friction at some states, then friction along a path, (N, n).

    Some friction depends on the path: a motion to and fro, ever further, shows its state.
    """
    arm = situation.arm
    rigid = NewtonEulerModel(arm, situation.gravity).inverse_dynamics(*states)
    if arm.friction is None:
        return np.vstack([rigid, np.zeros((_PATH_SAMPLES, arm.n))])
    reach = np.geomspace(1e-3, 1.0, _PATH_SAMPLES)  # [rad]
    q = (reach * np.sin(np.linspace(0.0, 16.0 * math.tau, _PATH_SAMPLES)))[:, None] * np.ones(
        arm.n
    )
    along = friction_along(arm.friction, q, np.gradient(q, _PATH_STEP_S, axis=0))
    return np.vstack([rigid + arm.friction.torque(states.dq), along])


def _texts(first: float | str, second: float | str) -> tuple[str, str]:
    """Return two values with six digits, or with as many as tell one from the other."""
    digits = 6
    while True:
        texts = [one if isinstance(one, str) else f'{one:.{digits}g}' for one in (first, second)]
        if texts[0] != texts[1] or digits == _ALL_DIGITS:
            return texts[0], texts[1]
        digits += 1
