# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a difference between two sets of inertial parameters does to joint torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription, LinkInertia
from ..arm.sampling import sample_states
from ..dynamics.model import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel

# A torque below this [N m] is rounding of sums of torques of up to 100 N m.
NO_EFFECT = 1e-11
_STATES = 200
# A base tilted about two axes lets every parameter act that acts in any mounting.
_TILTED = (3.0, -5.0, -7.9)


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


def effect_of_rows(reference: ArmDescription, other: ArmDescription) -> TorqueEffect:
    """Return what other DH rows do to the torques of an arm with the same links."""
    states = sample_states(reference, _STATES, 0)

    def gap(gravity: tuple[float, float, float]) -> NDArray[np.float64]:
        tau = [
            NewtonEulerModel(arm, gravity).inverse_dynamics(*states) for arm in (reference, other)
        ]
        return np.abs(tau[1] - tau[0]).max(axis=0)

    upright = gap(GRAVITY)
    return TorqueEffect(
        float(upright.max()),
        float(gap(_TILTED).max()),
        reference.joint_names[int(np.argmax(upright))],
    )


def _peaks(
    description: ArmDescription,
    gravity: tuple[float, float, float],
) -> NDArray[np.float64]:
    """Return the largest torque of each joint over the states, shape (n,)."""
    states = sample_states(description, _STATES, 0)
    return np.abs(NewtonEulerModel(description, gravity).inverse_dynamics(*states)).max(axis=0)
