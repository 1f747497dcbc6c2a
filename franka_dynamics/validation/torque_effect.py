# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A difference between two descriptions of an arm, and what it does to joint torques."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
import math

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription, LinkInertia
from ..arm.friction import friction_along
from ..arm.sampling import JointStates, sample_states
from ..dynamics.model import GRAVITY, gravity_vector
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

# A torque below this [N m] is rounding of sums of torques of up to 100 N m.
NO_EFFECT = 1e-11
_STATES = 200
_PATH_SAMPLES, _PATH_STEP_S = 500, 0.01
# A base tilted about two axes lets every parameter act that acts in any mounting.
_TILTED = (3.0, -5.0, -7.9)
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
    `effect` says more about the effect than its size, where there is more to say.
    """

    place: str
    parameter: str
    first: float | str
    second: float | str
    unit: str
    torque_effect: float
    change: Change = field(default=lambda before: before, repr=False, compare=False)
    cause: str = ''
    effect: str = ''
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
        if self.effect:
            effect = f'effect on torque: {self.effect}'
        elif self.has_effect:
            effect = f'torque changes by up to {self.torque_effect:.3g} N m'
        else:
            effect = 'no effect on torque'
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
    arm = first
    before = after = Situation(arm, gravity_vector(gravity))
    # Reversed joints last: the other changes are said in the first arm's own signs.
    for one in sorted(found, key=lambda one: one.parameter == JOINT_SIGN):
        after = one.change(after)
    states = sample_states(arm, _STATES, seed)
    apart = torque(after, states) - torque(before, states)
    worst = np.abs(apart).max(axis=0)
    apart = apart[:_STATES]
    return JointEffect(
        float(worst.max()),
        arm.joint_names[int(worst.argmax())],
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


@dataclass(frozen=True)
class TorqueEffect:
    """
    The largest torque difference over random states within the limits [N m].

    `upright` is for an upright base, `joint` the joint that sees it; `tilted` for a tilted base.
    """

    upright: float
    tilted: float
    joint: str

    @property
    def none(self) -> bool:
        """Whether no motion shows the difference, whichever way the base is mounted."""
        return max(self.upright, self.tilted) <= NO_EFFECT

    def __str__(self) -> str:
        """Return the effect in words."""
        if self.none:
            return 'none; no motion shows this number'
        if self.upright <= NO_EFFECT:
            return f'none on an upright base, up to {self.tilted:.2g} N m on a tilted one'
        return f'up to {self.upright:.2g} N m (at {self.joint})'


def effect_of_links(
    reference: ArmDescription, found: Sequence[LinkInertia], expected: Sequence[LinkInertia]
) -> TorqueEffect:
    """
    Return what replacing some links of an arm by others does to its torques.

    Torque is linear in the inertial parameters (Gautier and Khalil 1990, section 3), so the
    recursion on the differences of the links gives the difference of the torques itself, without
    cancellation.

    Parameters
    ----------
    reference : ArmDescription
        The arm whose rows and limits count.
    found, expected : sequence of LinkInertia
        Both sets of links, in the arm's DH frames.

    """
    joints = tuple(replace(joint, rotor_inertia=0.0) for joint in reference.joints)
    difference = replace(
        reference, joints=joints, links=tuple(a - b for a, b in zip(found, expected))
    )
    upright = _peaks(difference, GRAVITY)
    return TorqueEffect(
        float(upright.max()),
        float(_peaks(difference, _TILTED).max()),
        reference.joint_names[int(np.argmax(upright))],
    )


def _peaks(
    description: ArmDescription,
    gravity: tuple[float, float, float],
) -> Array:
    """Return the largest torque of each joint over the states, shape (n,)."""
    states = sample_states(description, _STATES, 0)
    return np.abs(NewtonEulerModel(description, gravity).inverse_dynamics(*states)).max(axis=0)


def _texts(first: float | str, second: float | str) -> tuple[str, str]:
    """Return two values with six digits, or with as many as tell one from the other."""
    digits = 6
    while True:
        texts = [one if isinstance(one, str) else f'{one:.{digits}g}' for one in (first, second)]
        if texts[0] != texts[1] or digits == _ALL_DIGITS:
            return texts[0], texts[1]
        digits += 1
