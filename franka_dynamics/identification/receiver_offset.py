# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The offset of friction that belongs beside the gravity torque of the robot's own model.

A robot that adds gravity adds that of its own model, and not that of the arm identified from its
recordings. Recordings determine the sum of gravity and offset well, but hardly how it is divided:
on a simulated FR3 without an offset 0.88 N m were taken from gravity and given to the offset of
joint 2. So the offset that is commanded beside the robot's gravity is fitted beside that gravity:
f_o plus the mean of g(q) - g_robot(q) over the recorded poses.
"""

from dataclasses import replace

from ..arm import ArmDescription, MaxwellSlipFriction, ViscousCoulombFriction
from ..arrays import Array, ArrayLike
from ..dynamics.pinocchio_model import PinocchioModel


def gravity_differences(
    arm: ArmDescription, robot: ArmDescription, positions: Array, gravity: ArrayLike
) -> Array:
    """
    Return an identified arm's gravity torque minus that which the robot adds, (N, n) [N m].

    `robot` is the arm of the robot's own model, which carries the payload that `arm` states.
    `positions` are (N, n), and `gravity` (3,) [m/s^2] is that in the space frame.
    """
    loaded_robot = robot.without_payload().with_payload(arm.payload)
    own_torque = PinocchioModel(arm, gravity).gravity(positions)
    return own_torque - PinocchioModel(loaded_robot, gravity).gravity(positions)


def with_receiver_offset(
    arm: ArmDescription, robot: ArmDescription, positions: Array, gravity: ArrayLike
) -> ArmDescription:
    """
    Return an identified arm whose friction knows its offset beside the robot's own gravity.

    The arguments are those of `gravity_differences`. An arm without friction, with the robot's
    inertias, or without recorded positions is returned as it is.
    """
    friction = arm.friction
    if not isinstance(friction, ViscousCoulombFriction | MaxwellSlipFriction) or not len(
        positions
    ):
        return arm
    change = gravity_differences(arm, robot, positions, gravity).mean(axis=0)  # (n,), N m
    if not change.any():
        return arm
    return replace(arm, friction=replace(friction, receiver_offset=friction.offset + change))
