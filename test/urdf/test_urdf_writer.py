# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated URDFs: other people's readers load them and compute the same torques."""

from dataclasses import replace
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.pinocchio_urdf import reading_differences

ARMS = pytest.mark.parametrize('arm', ['fer', 'fr3', 'rpr'])
TORQUE = 1e-12  # N m; 5e-14 was seen


@ARMS
def test_pinocchio_reads_a_written_urdf_with_the_rows_torques(arm):
    description = load(arm)
    torque, _ = reading_differences(write_urdf(description), description, np.eye(4))
    assert torque <= TORQUE


def test_joints_of_unknown_limits_are_read_by_pinocchio():
    rpr = load('rpr')
    free = replace(
        rpr, joints=tuple(replace(joint, limits=type(joint.limits)()) for joint in rpr.joints)
    )
    text = write_urdf(free)
    kinds = [joint.get('type') for joint in ElementTree.fromstring(text).findall('joint')]
    assert [kind for kind in kinds if kind != 'fixed'] == ['continuous', 'prismatic', 'continuous']
    assert reading_differences(text, rpr, np.eye(4))[0] <= TORQUE
