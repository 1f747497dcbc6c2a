# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unknown and one-sided limits in written URDF and MJCF files."""

from dataclasses import replace
import xml.etree.ElementTree as ElementTree

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import write_mjcf, write_urdf
from franka_dynamics.validation.pinocchio_urdf import reading_differences

TORQUE = 1e-12  # N m; largest measured 5e-14


def test_joints_of_unknown_limits_are_read_by_pinocchio():
    rpr = load('rpr')
    free = replace(
        rpr, joints=tuple(replace(joint, limits=type(joint.limits)()) for joint in rpr.joints)
    )
    text = write_urdf(free)
    kinds = [joint.get('type') for joint in ElementTree.fromstring(text).findall('joint')]
    assert [kind for kind in kinds if kind != 'fixed'] == ['continuous', 'prismatic', 'continuous']
    assert reading_differences(text, rpr, np.eye(4))[0] <= TORQUE


def test_a_stop_at_one_end_and_rotors_are_kept_in_urdf_and_mjcf():
    rpr = load('rpr')
    stops = [(-1.25, np.inf), (-np.inf, 0.3), (-np.inf, 2.5)]
    joints = (
        replace(joint, limits=replace(joint.limits, lower=lower, upper=upper), rotor_inertia=0.2)
        for joint, (lower, upper) in zip(rpr.joints, stops)
    )
    arm = replace(rpr, joints=tuple(joints), home=None)
    read = read_chain(write_urdf(arm), arm.joint_names).joints
    assert [(joint.limits.lower, joint.limits.upper) for joint in read] == stops
    model = ElementTree.fromstring(write_mjcf(arm))
    moving = [joint for joint in model.iter('joint') if joint.get('range')]
    assert [float(joint.get('armature')) for joint in moving] == [0.2] * 3
    ranges = [[float(end) for end in joint.get('range').split()] for joint in moving]
    np.testing.assert_array_equal(ranges, np.clip(stops, -1e9, 1e9))
