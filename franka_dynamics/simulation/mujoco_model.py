# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm description -> a MuJoCo model; MuJoCo computes its own dynamics from it."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription, Convention, JointKind
from ..dynamics.model import GRAVITY
from ..errors import MissingDependencyError

if TYPE_CHECKING:
    import mujoco

TIMESTEP_S = 1e-3
FLANGE_SITE = 'flange'
# A stop is critically damped, as stiff as MuJoCo's integration allows (a time constant of two
# steps), and gives way by less than 1 mrad to the arm's own torque limit at rest.
_STOP_STEPS, _STOP_SOLIMP = 2.0, (0.99, 0.999, 1e-3, 0.5, 2.0)


def import_mujoco() -> Any:
    """Return the mujoco module, or say how to get it."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError(
            "The simulated arm needs MuJoCo: pip install 'franka_dynamics[sim]'."
        ) from error
    return mujoco


def build_spec(
    description: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    timestep: float = TIMESTEP_S,
    stops: bool = False,
) -> mujoco.MjSpec:
    """
    Return an editable MuJoCo model of the bare chain: bodies, joints and torque motors.

    Body i coincides with DH frame {i}. Joints have no friction and no damping, so that what is
    simulated is the rigid-body dynamics and nothing else; with `stops` they end at the arm's
    position limits, which changes nothing before a limit is reached.

    Parameters
    ----------
    description : ArmDescription
        The arm, with hand and payload.
    gravity : array_like, shape (3,)
        In the space frame, MuJoCo's world [m/s^2].
    timestep : float
        Of the engine [s].
    stops : bool
        Whether the position limits are stops.

    Raises
    ------
    InertiaError
        If a link is not physical; MuJoCo would refuse it.
    MissingDependencyError
        If MuJoCo is not installed.

    """
    mujoco = import_mujoco()
    description.require_physical('the simulator')
    spec = mujoco.MjSpec()
    spec.modelname = description.name
    spec.option.timestep = timestep
    spec.option.gravity = np.asarray(gravity, dtype=float)
    spec.compiler.degree = False
    # Two links may touch at a joint; contacts are no part of this model.
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    parent = spec.worldbody
    pose = np.asarray(description.base, dtype=float)
    for i, (joint, link) in enumerate(zip(description.joints, description.links)):
        row = joint.row.transform(description.convention)
        step = pose @ row
        body = parent.add_body(name=f'link{i + 1}', pos=step[:3, 3], quat=_quaternion(step))
        modified = description.convention is Convention.MODIFIED
        # A standard row comes after the joint's motion: its axis is z of the frame before.
        back = np.eye(4) if modified else np.linalg.inv(row)
        kind = (
            mujoco.mjtJoint.mjJNT_HINGE
            if joint.kind is JointKind.REVOLUTE
            else mujoco.mjtJoint.mjJNT_SLIDE
        )
        element = body.add_joint(
            name=joint.name,
            type=kind,
            axis=back[:3, 2],
            pos=back[:3, 3],
            armature=joint.rotor_inertia,
        )
        element.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        if stops and np.isfinite([joint.limits.lower, joint.limits.upper]).any():
            element.limited = mujoco.mjtLimited.mjLIMITED_TRUE
            # An open end is put where no joint gets to.
            element.range = np.clip([joint.limits.lower, joint.limits.upper], -1e6, 1e6)
            element.solref_limit = (_STOP_STEPS * timestep, 1.0)
            element.solimp_limit = _STOP_SOLIMP
        inertia = link.inertia_at_center_of_mass
        body.explicitinertial = True
        body.mass, body.ipos = link.mass, link.center_of_mass
        body.fullinertia = [
            inertia[0, 0],
            inertia[1, 1],
            inertia[2, 2],
            inertia[0, 1],
            inertia[0, 2],
            inertia[1, 2],
        ]
        spec.add_actuator(
            name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
        ).set_to_motor()
        parent, pose = body, np.eye(4)
    flange = description.flange_transform()
    parent.add_site(name=FLANGE_SITE, pos=flange[:3, 3], quat=_quaternion(flange))
    return spec


def build_mujoco(
    description: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    timestep: float = TIMESTEP_S,
    stops: bool = False,
) -> mujoco.MjModel:
    """Return the compiled model of `build_spec`, which takes the same and raises the same."""
    return build_spec(description, gravity=gravity, timestep=timestep, stops=stops).compile()


def _quaternion(pose: np.ndarray) -> np.ndarray:
    """Return the rotation of a (4, 4) pose as (w, x, y, z)."""
    quaternion = np.empty(4)
    import_mujoco().mju_mat2Quat(quaternion, pose[:3, :3].flatten())
    return quaternion
