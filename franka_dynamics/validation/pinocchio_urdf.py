# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio's own reading of a URDF, to compare ours with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
import pinocchio as pin

from ..arm import ArmDescription
from ..arm.sampling import sample_states
from ..dynamics.model import GRAVITY, gravity_vector
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import UrdfError


class PinocchioUrdf:
    """
    The dynamics of some joints of a URDF, all others held, by Pinocchio alone.

    Other joints are held at zero, or at the limit next to it.

    Parameters
    ----------
    xml : str
        The URDF's text.
    joint_names : sequence of str
        The joints that move, from base to tip.
    gravity : array_like, shape (3,)
        Gravity in the frame of the URDF's root link [m/s^2].

    Raises
    ------
    UrdfError
        If Pinocchio cannot read the text, or a joint is missing.

    """

    def __init__(
        self,
        xml: str,
        joint_names: Sequence[str],
        gravity: ArrayLike = GRAVITY,
    ) -> None:
        try:
            self.model = pin.buildModelFromXML(xml)
        except (ValueError, RuntimeError) as error:
            raise UrdfError(f'Pinocchio cannot read the URDF: {error}') from error
        missing = [name for name in joint_names if not self.model.existJointName(name)]
        if missing:
            raise UrdfError(f'Pinocchio finds no joint {", ".join(missing)} in the URDF.')
        others = [i for i, name in enumerate(self.model.names) if i and name not in joint_names]
        held = _nearest_to_zero(self.model)
        self.model = pin.buildReducedModel(self.model, others, held)
        self.model.gravity.linear = gravity_vector(gravity)
        self.data = self.model.createData()
        self._order = [
            self.model.joints[self.model.getJointId(name)].idx_v for name in joint_names
        ]

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> NDArray[np.float64]:
        """Return M ddq + C dq + g for a stack of states, shape (count, n) [N m]."""
        torques = []
        for positions, *rates in zip(
            *(np.asarray(values, dtype=float) for values in (q, dq, ddq))
        ):
            velocity, acceleration = np.zeros((2, self.model.nv))
            velocity[self._order], acceleration[self._order] = rates
            at = self._position(positions)
            torque = pin.rnea(self.model, self.data, at, velocity, acceleration)
            torques.append(torque[self._order])
        return np.array(torques)

    def link_poses(self, q: ArrayLike, link: str) -> NDArray[np.float64]:
        """Return the poses of a link in the root link for positions (count, n), (count, 4, 4)."""
        frame = self.model.getFrameId(link)
        poses = []
        for positions in np.asarray(q, dtype=float):
            pin.framesForwardKinematics(self.model, self.data, self._position(positions))
            poses.append(self.data.oMf[frame].homogeneous)
        return np.array(poses)

    def _position(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Pinocchio's configuration; a continuous joint is kept as cosine and sine."""
        step = np.zeros(self.model.nv)
        step[self._order] = q
        return np.asarray(pin.integrate(self.model, pin.neutral(self.model), step))


def _nearest_to_zero(model: pin.Model) -> NDArray[np.float64]:
    """Return zero, or the limit next to it, for every joint."""
    low, high = model.lowerPositionLimit, model.upperPositionLimit
    q = pin.neutral(model)
    single = [joint.idx_q for joint in list(model.joints)[1:] if joint.nq == 1]
    q[single] = np.clip(0.0, low[single], high[single])
    return q


def largest_difference(
    xml: str, description: ArmDescription, mount: ArrayLike, *, count: int = 50, seed: int = 0
) -> float:
    """
    Return the largest torque difference between our reading of a URDF and Pinocchio's [N m].

    Parameters
    ----------
    xml : str
        The URDF's text.
    description : ArmDescription
        What was read from it; evaluated by the Newton-Euler recursion in DH frames.
    mount : array_like, shape (4, 4)
        The pose of the description's space frame in the URDF's root link.
    count, seed : int
        How many random states within the limits, and from which seed.

    """
    states = sample_states(description, count, seed)
    # Rotor inertia is no part of a URDF.
    rotors = np.array([joint.rotor_inertia for joint in description.joints])
    gravity = np.asarray(mount, dtype=float)[:3, :3].T @ np.asarray(GRAVITY)
    ours = NewtonEulerModel(description, gravity).inverse_dynamics(*states) - rotors * states.ddq
    theirs = PinocchioUrdf(xml, description.joint_names).inverse_dynamics(*states)
    return float(np.abs(ours - theirs).max())


def largest_flange_difference(
    xml: str,
    description: ArmDescription,
    mount: ArrayLike,
    link: str,
    *,
    count: int = 50,
    seed: int = 0,
) -> float:
    """
    Return the largest difference of any entry of the flange's pose (1 or m).

    Parameters
    ----------
    xml, description, mount, count, seed
        As in `largest_difference`.
    link : str
        The URDF's link that is the flange.

    """
    q = sample_states(description, count, seed).q
    ours = np.asarray(mount, dtype=float) @ NewtonEulerModel(description).frames(q)[:, -1]
    theirs = PinocchioUrdf(xml, description.joint_names).link_poses(q, link)
    return float(np.abs(ours - theirs).max())
