# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compares an arm description with Pinocchio's model of its URDF."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.sampling import sample_states
from ..urdf.serial_chain import pinocchio_model, reduced_model

_STATES = 50  # random states within the limits


def reading_differences(
    xml: str, description: ArmDescription, tip: str | None = None
) -> tuple[float, float]:
    """
    Return the largest differences of a description from Pinocchio's model of its URDF.

    Returned are the largest differences of a joint torque [N m] and of an entry of the flange's
    pose [1 or m] at random states. The description is evaluated by the Newton-Euler recursion in
    DH frames, in the frame of the URDF's root link. `tip` is the URDF's link that is the flange;
    without `tip` the second number is 0.
    Joints of the URDF that the description lacks are held at zero, or at their limit nearest to
    zero.

    Raises
    ------
    UrdfError
        If Pinocchio cannot read the text.

    """
    names = description.joint_names
    model = reduced_model(pinocchio_model(xml, 'the URDF'), names)
    data, order = model.createData(), [model.joints[model.getJointId(one)].idx_v for one in names]
    # URDF has no rotor inertias, so Pinocchio's torques lack the rotors' part.
    rotors = np.array([joint.rotor_inertia for joint in description.joints])
    recursion = NewtonEulerModel(description)
    torque, flange = 0.0, 0.0
    for q, dq, ddq in zip(*sample_states(description, _STATES)):
        step, velocity, acceleration = np.zeros((3, model.nv))
        step[order], velocity[order], acceleration[order] = q, dq, ddq
        # Pinocchio's coordinates of a continuous joint are cosine and sine, so `integrate`
        # converts the joint positions q to coordinates.
        at = pin.integrate(model, pin.neutral(model), step)
        theirs = pin.rnea(model, data, at, velocity, acceleration)[order]
        error = recursion.inverse_dynamics(q, dq, ddq) - rotors * ddq - theirs
        torque = float(np.max([torque, np.abs(error).max()]))
        if tip is not None:
            pin.framesForwardKinematics(model, data, at)
            there = data.oMf[model.getFrameId(tip, pin.BODY)].homogeneous
            flange = float(np.max([flange, np.abs(recursion.frames(q)[-1] - there).max()]))
    return torque, flange
