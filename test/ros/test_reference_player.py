# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The player heeds what is said of its own motion alone, and sends a refused one again."""

import subprocess
import sys

import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.ros.messages import stamp_from_seconds
from franka_dynamics.ros.qos import STATE_QOS

from .conftest import Follower, ROOT, TIMEOUT_S

ARM = load('fer')


@pytest.fixture
def played(probe):
    """Return a function that plays to a node that answers as told; exit status, text, motions."""
    node = Follower(probe)
    motions, tell = node.motions, node.tell
    states = probe.create_publisher(JointState, 'joint_states', STATE_QOS)

    def play(*answers):
        """
        Answer the k-th motion with the k-th list.

        Of states, each with the number of the motion that it is of; None: of somebody else's.
        """
        tell('refused', '')
        answers, stamp = list(answers), 0.0
        player = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'franka_dynamics.ros.reference_player_node',
                '--ros-args',
                '-p',
                'duration:=1.0',
                '-p',
                'wait:=8.0',
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )
        answered = 0
        while player.poll() is None:
            stamp += 0.01 if answered == len(answers) else 1e-4
            message = JointState(name=list(ARM.joint_names), position=list(ARM.home))
            message.velocity = [0.0] * ARM.n
            message.header.stamp = stamp_from_seconds(stamp)
            states.publish(message)
            probe.spin()
            if answered < min(len(motions), len(answers)):
                for state, whose in answers[answered]:
                    tell(state, 'other' if whose is None else motions[whose].header.frame_id)
                answered += 1
        text, _ = player.communicate(timeout=TIMEOUT_S)
        return player.returncode, text, len(motions)

    return play


def test_news_of_other_motions_decide_nothing(played):
    status, text, count = played(
        [('accepted', None), ('refused', 0)],
        [('interrupted', None), ('accepted', 1), ('interrupted', 0), ('finished', 1)],
    )
    assert (status, count) == (0, 2), text
    assert 'error at the end' in text
