# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arm of the robot's own model, by whose gravity torque a robot carries itself."""

from . import ArmDescription, available_arms, load


def robot_arm(arm: ArmDescription) -> ArmDescription:
    """
    Return the arm of the robot's own model, whose gravity torque a robot adds that adds any.

    It is `arm` if that is a published one or the owner's URDF, which has the masses of its hand.
    Of another arm file no robot knows: then it is the published arm of equal name, hand and
    payload, if there is one.
    """
    published = published_arm(arm)
    return arm if arm.urdf is not None or published is None else published


def published_arm(arm: ArmDescription) -> ArmDescription | None:
    """
    Return the shipped arm of equal name, joints, hand and payload.

    It is None if `arm` is that or there is none.
    """
    if arm.name not in available_arms():
        return None
    published = load(arm.name, hand=arm.hand)
    if arm.file == published.file or arm.joint_names != published.joint_names:
        return None
    return published.with_payload(arm.payload)
