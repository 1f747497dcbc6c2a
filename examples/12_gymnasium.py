#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A gymnasium environment: joint targets at 30 Hz, followed with feedforward torques at 1 kHz.

An action is the target of each joint [rad], as policies for Franka arms give them.
`fd.Feedforward` makes a smooth motion of the targets and commands M ddq + C dq + g and a soft PD
torque. Positions, velocities, the flange's and the goal's position are observed; the reward is
minus their distance [m]. Run, it prints the return of a policy that holds still.
"""

import numpy as np

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[sim]' gymnasium") from None

import franka_dynamics as fd
from franka_dynamics.control.feedforward import State
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

CYCLES = 33  # torques of 1 ms per action
MOST_STEP = 0.09  # change of a target [rad]; `follow` refuses a first target that is 0.1 away


class Reach(gymnasium.Env):
    """Move the simulated arm's flange to a point."""

    def __init__(self, arm='fr3'):
        self.model = fd.Model(arm)
        self.arm = fd.load(arm)
        low = self.arm.limit('lower')
        high = self.arm.limit('upper')
        self.action_space: spaces.Box = spaces.Box(low, high, dtype=np.float64)
        self.observation_space = spaces.Box(-100.0, 100.0, (2 * self.arm.n + 6,))

    def reset(self, *, seed=None, options=None):
        """Put the arm at its home pose and draw a goal."""
        super().reset(seed=seed)
        self.plant = ArmSimulation(self.arm, SimulationSettings(brake_release_after=0.0))
        self.target = self.arm.home_position
        self.controller = fd.Feedforward(self.arm, 'mujoco', soft_gains=50.0)
        away = self.np_random.uniform(-0.4, 0.4, self.arm.n)
        self.goal = self.flange(np.clip(self.target + away, *self.limits()))
        self.run(100)  # until torques have begun
        return self.observed(), {}

    def step(self, action):
        """Follow joint targets (n,) [rad] for 33 ms; the episode is truncated if the arm stops."""
        away = np.clip(np.asarray(action) - self.target, -MOST_STEP, MOST_STEP)
        info = {}
        target = np.clip(self.target + away, *self.limits())
        try:
            self.controller.follow(target)
            self.target = target
        except fd.FrankaDynamicsError as error:  # it goes on to the target before
            info['refused'] = str(error)
        self.run(CYCLES)
        distance = np.linalg.norm(self.flange(self.plant.read().position) - self.goal)
        stopped = self.controller.state is not State.RUNNING
        info |= {'stopped': str(self.controller.status)} if stopped else {}
        return self.observed(), -float(distance), bool(distance < 0.01), stopped, info

    def run(self, cycles):
        """Step controller and arm."""
        for _ in range(cycles):
            state = self.plant.read()
            self.plant.step(self.controller.step(state.position, state.velocity, state.time))

    def limits(self):
        """Return the bounds of actions."""
        return self.action_space.low, self.action_space.high

    def flange(self, q):
        """Return the flange's position (3,) in the base frame [m]."""
        return self.model.frame_pose(q)[:3, 3]

    def observed(self):
        """Return positions, velocities, flange and goal in one array."""
        state = self.plant.read()
        flange = self.flange(state.position)
        rows = (state.position, state.velocity, flange, self.goal)
        return np.concatenate(rows, dtype=np.float32)


def main() -> None:
    """Print the return of an episode in which the arm is held."""
    reach = Reach()
    environment = gymnasium.wrappers.TimeLimit(reach, 90)
    environment.reset(seed=0)
    rewards = [float(environment.step(reach.arm.home)[1]) for _ in range(90)]
    print(f'held for 3 s: {sum(rewards):.1f} m')


if __name__ == '__main__':
    main()
