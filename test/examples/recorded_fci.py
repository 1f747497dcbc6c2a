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


class Feedforward(fci.Feedforward):
    """The example's controller, which stores the motion."""

    def follow(self, *args, **more):
        planned.append(super().follow(*args, **more))
        return planned[-1]


recorders, planned = [], []
fci.Feedforward, pylibfranka.Robot = Feedforward, Robot
code = fci.main(sys.argv[2:])
count = len(recorders[0].torques)
time, q, dq = np.split(np.array(recorders[0].states[:count]), [1, 8], axis=1)
duration = float(sys.argv[sys.argv.index('--duration') + 1])
begin = {'start': planned[0].end - duration, 'q_start': planned[0].positions[-1]}
np.savez(sys.argv[1], **begin, time=time[:, 0], q=q, dq=dq, torque=recorders[0].torques)
sys.exit(code)
