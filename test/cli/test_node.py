# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`node`: no answer, payload values, a verb as transition, and the lead-in of a motion."""

from pathlib import Path

import numpy as np
import pytest

from franka_dynamics.cli.actions import NodePlay, NodeSet, TRANSITIONS
from franka_dynamics.cli.main import main
from franka_dynamics.cli.node import payload, played

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.ros.messages import seconds


def test_a_node_that_is_not_there_is_told_within_its_timeout(capsys):
    assert NodeSet(parameter='payload', value='none').timeout == 5.0
    assert main('node state --node nowhere --timeout 0.5'.split()) == 1
    assert '/nowhere does not answer within 0.5 s; is it running' in capsys.readouterr().err


class Client:
    """A node that takes every value and keeps the times of a motion [s]."""

    def set(self, name, value):
        return name, value

    def play(self, motion):
        self.times = np.array([seconds(point.time_from_start) for point in motion.points])


@pytest.mark.parametrize(
    'given, sent',
    [
        ('0.2,0,0,0.05', [0.2, 0.0, 0.0, 0.05, *6 * [0.0]]),
        ('3,0,0,0.1', [3.0, 0.0, 0.0, 0.1, *6 * [0.0]]),  # not 0.10000000000000002
        *((nothing, 10 * [0.0]) for nothing in ('none', 'None', '0,0,0,0', ','.join('0' * 10))),
    ],
)
def test_a_payload_is_taken_as_the_other_verbs_take_it(given, sent):
    assert payload(given) == sent


def test_a_verb_given_as_a_transition_is_answered_with_the_transitions(capsys):
    assert main(['node', 'state', 'clear']) == 2
    said = capsys.readouterr().err
    assert all(f"'{one}'" in said for one in ('clear', *TRANSITIONS))


def test_play_leads_the_arm_to_the_beginning_of_a_motion():
    plain, led = Client(), Client()
    played(NodePlay(file=Path('fr3')), plain)
    played(NodePlay(file=Path('fr3'), lead=2.5), led)
    assert plain.times[0] == 0.0
    np.testing.assert_allclose(led.times, plain.times + 2.5, rtol=0, atol=1e-9)
