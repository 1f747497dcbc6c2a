# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Runs examples/fci.py and records each state that it reads and the torque with which it answers.

Arguments: the .npz file to write, then the example's own arguments. The file has the motion's
start [s] and first position [rad]. For each cycle it has the state's time [s], q [rad] and dq
[rad/s], and the torque [N m].
"""

from pathlib import Path
import sys

import numpy as np
import pylibfranka

sys.path.insert(0, str(Path(__file__).parents[2] / 'examples'))
import fci


class Recorder:
    """A libfranka control object that stores what passes through it."""

    def __init__(self, motion):
        self.motion, self.states, self.torques = motion, [], []

    def readOnce(self):
        state, period = self.motion.readOnce()
        self.states.append([state.time.to_sec(), *state.q, *state.dq])
        return state, period

    def writeOnce(self, command):
        self.torques.append(command.tau_J)
        self.motion.writeOnce(command)


class Robot(pylibfranka.Robot):
    def start_torque_control(self):
        recorders.append(Recorder(super().start_torque_control()))
        return recorders[-1]


def out_and_back(*args):
    planned.append(plan(*args))
    return planned[-1]


recorders, planned = [], []
plan, fci.out_and_back, pylibfranka.Robot = fci.out_and_back, out_and_back, Robot
code = fci.main(sys.argv[2:])
count = len(recorders[0].torques)
time, q, dq = np.split(np.array(recorders[0].states[:count]), [1, 8], axis=1)
begin = {'start': planned[0].times[0], 'q_start': planned[0].positions[0]}
np.savez(sys.argv[1], **begin, time=time[:, 0], q=q, dq=dq, torque=recorders[0].torques)
sys.exit(code)
