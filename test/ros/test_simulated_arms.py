# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One command topic moves one simulated arm: a second is told of the first, and of no other."""

import pytest

pytest.importorskip('mujoco')


def test_a_second_arm_behind_one_topic_ends_and_names_the_first(start_arm, probe):
    first = start_arm()
    probe.until(lambda: 'simulator: Simulated arm' in probe.diagnostics, 'the first')
    second = start_arm()
    assert second.wait() == 2
    assert 'another simulated arm (process ' in second.text
    assert 'takes torques from /effort_controller/commands in ROS domain' in second.text
    assert first.running
    # One in a namespace of its own is no second.
    beside = start_arm(remaps={'__ns': '/beside'})
    probe.until(lambda: 'beside/simulator: Simulated arm' in probe.diagnostics, 'one beside it')
    first.kill()
    third = start_arm()
    probe.diagnostics.clear()
    probe.until(lambda: 'simulator: Simulated arm' in probe.diagnostics, 'one after it')
    assert third.running and beside.running
