# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model of an arm, by which MuJoCo computes the arm's dynamics independently."""

from dataclasses import replace
from functools import lru_cache
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..constants import GRAVITY
from ..errors import require_extra
from ..urdf.mjcf_writer import mjcf_text

if TYPE_CHECKING:
    import mujoco

TIMESTEP_S = 1e-3
FLANGE_SITE = 'flange'
# A joint stop is critically damped and as stiff as MuJoCo's integration allows: its time constant
# in time steps.
_STOP_TIME_CONSTANT_STEPS = 2.0
# MuJoCo's solimp of a joint stop: under the joint's torque limit it yields by less than 1 mrad.
_STOP_SOLIMP = (0.99, 0.999, 1e-3, 0.5, 2.0)


def import_mujoco() -> Any:
    """Return the Python module mujoco; raise MissingDependencyError if it is not installed."""
    with require_extra('The simulated arm needs MuJoCo', 'sim'):
        import mujoco
    return mujoco


@lru_cache(maxsize=32)  # writing the text takes ten times as long as MuJoCo's part
def _ideal_mjcf(arm: ArmDescription) -> str:
    """Return an arm's MJCF without friction, armature and home, with sites of flange and base."""
    return mjcf_text(replace(arm, home=None, fixed_frames=()), ideal=True)


def build_mujoco_model(
    arm: ArmDescription,
    gravity: ArrayLike = GRAVITY,
    dt: float = TIMESTEP_S,
    stops: bool = False,
) -> 'mujoco.MjModel':
    """
    Return the MuJoCo model of an arm, compiled from its MJCF (`mjcf_text`).

    The frame of body i is DH frame {i}. Motors apply exactly the commanded torque, and joints have
    neither friction nor damping: only rigid-body dynamics are simulated. With `stops` the joints
    end at the arm's position limits; within the limits stops exert no torque. `arm` is the
    arm with hand and payload; `gravity` is in the space frame, MuJoCo's world [m/s^2]; `dt` is the
    time step [s].

    Raises
    ------
    InertiaError
        If a link is not physical; MuJoCo would refuse it.
    MissingDependencyError
        If MuJoCo is not installed.

    """
    mujoco = import_mujoco()
    arm.require_physical('the simulator')
    spec = mujoco.MjSpec.from_string(_ideal_mjcf(arm))
    spec.option.timestep = dt
    spec.option.gravity = np.asarray(gravity, dtype=float)
    # Neighbouring links may overlap at a joint, so contacts are switched off.
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    for i, joint in enumerate(arm.joints):
        spec.actuators[i].ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        element = spec.joints[i]
        limits = [joint.limits.lower, joint.limits.upper]
        element.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        if stops and np.isfinite(limits).any():
            element.limited = mujoco.mjtLimited.mjLIMITED_TRUE
            # A missing position limit becomes a position that no joint reaches.
            element.range = np.clip(limits, -1e6, 1e6)
            element.solref_limit = (_STOP_TIME_CONSTANT_STEPS * dt, 1.0)
            element.solimp_limit = _STOP_SOLIMP
    spec.bodies[-1].sites[0].name = FLANGE_SITE
    return spec.compile()
