# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Adaptive control at 1 kHz beside computed torque, of an arm whose load nobody declared.

Slotine and Li 1987, "On the Adaptive Control of Robot Manipulators": with s = de + LAMBDA e, e =
q_d - q, the torque Y theta + K s, and d theta/dt = GAMMA Y^T s, follows the motion without knowing
the inertial parameters theta. Y(q, dq, dq_r, ddq_r) theta = M ddq_r + C(q, dq) dq_r + g, dq_r =
dq + s. C(q, dq) dq_r is C(q, a) a - C(q, b) b, a = (dq + dq_r) / 2, b = (dq - dq_r) / 2, so that Y
is the difference of two of `Model.regressor`.

The simulated arm compensates its own gravity, as a real Franka arm does, but not that of the 2 kg
on its flange; g of the arm without the load is taken off the commands. Prints the rms error of the
last period for each controller, and how long a step of the adaptive one takes.
"""

import time

import numpy as np

import franka_dynamics as fd
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

ARM = fd.load('fr3')
LOAD = fd.LinkInertia.from_center_of_mass(2.0, (0.02, 0.0, 0.08), 4e-3 * np.eye(3))
STEP_S = 1e-3
PERIOD_S = 4.0
PERIODS = 4
AMPLITUDE = np.array([0.3, 0.15, 0.3, 0.2, 0.3, 0.3, 0.5])  # rad
LAMBDA = 10.0  # 1/s
# Damping [N m s/rad], about that of LAMBDA M at the first joints.
K = np.array([20.0, 20.0, 20.0, 20.0, 4.0, 4.0, 2.0])
# Rates of adaptation: of elements of the tensors [kg m^2], first moments [kg m] and masses [kg].
GAMMA = np.tile(np.repeat([0.05, 0.15, 1.5], [6, 3, 1]), ARM.n)


def motion(at):
    """Return desired position, velocity and acceleration, (n,) each, at a time [s]."""
    rate = 2.0 * np.pi / PERIOD_S
    waves = (
        1.0 - np.cos(rate * at),
        rate * np.sin(rate * at),
        rate**2 * np.cos(rate * at),
    )
    q_d, dq_d, ddq_d = (AMPLITUDE * wave for wave in waves)
    return ARM.home_position + q_d, dq_d, ddq_d


class Adaptive:
    """Slotine and Li's controller, which begins with an arm's parameters."""

    def __init__(self, arm):
        self.model = fd.Model(arm)
        self.theta = fd.parameter_vector(arm)
        self.weightless = fd.Model(arm, gravity=(0.0, 0.0, 0.0))

    def torque(self, q, dq, q_d, dq_d, ddq_d):
        """Return the torque (n,) [N m], and adapt the parameters by one step."""
        dq_r = dq_d + LAMBDA * (q_d - q)
        ddq_r = ddq_d + LAMBDA * (dq_d - dq)
        regressor = self.model.regressor(q, 0.5 * (dq + dq_r), ddq_r)
        regressor -= self.weightless.regressor(q, 0.5 * (dq - dq_r), np.zeros(ARM.n))
        torque = regressor @ self.theta + K * (dq_r - dq)
        self.theta += STEP_S * GAMMA * (regressor.T @ (dq_r - dq))
        return torque


class ComputedTorque:
    """Inverse dynamics of one arm, right or wrong, with both poles of each joint at -LAMBDA."""

    def __init__(self, arm):
        self.model = fd.Model(arm)

    def torque(self, q, dq, q_d, dq_d, ddq_d):
        """Return the torque (n,) [N m]."""
        feedback = 2.0 * LAMBDA * (dq_d - dq) + LAMBDA**2 * (q_d - q)
        return self.model.inverse_dynamics(q, dq, ddq_d + feedback)


def follow(controller):
    """Return the errors (N, n) [rad] of a controller, and the time of its steps (N,) [s]."""
    settings = SimulationSettings(payload=LOAD, gravity_compensation=True, brake_release_after=0.0)
    simulated = ArmSimulation(ARM, settings)
    own = fd.Model(ARM)
    errors = []
    times = []
    for step in range(round(PERIODS * PERIOD_S / STEP_S)):
        state = simulated.read()
        desired = motion(step * STEP_S)
        began = time.perf_counter()
        torque = controller.torque(state.position, state.velocity, *desired)
        times.append(time.perf_counter() - began)
        simulated.step(torque - own.gravity(state.position))
        errors.append(desired[0] - simulated.position)
    return np.array(errors), np.array(times)


def rms_mrad(errors):
    """Return the root of the mean of |error|^2 in the last period [mrad]."""
    last = errors[-round(PERIOD_S / STEP_S) :]
    return 1e3 * np.sqrt(np.mean(np.sum(last**2, axis=1)))


def main():
    """Let each controller follow the motion, and print its errors."""
    wrong = ComputedTorque(ARM)
    right = ComputedTorque(ARM.with_payload(LOAD))
    for name, one in (('load unknown', wrong), ('load known', right)):
        print(f'computed torque, {name}: {rms_mrad(follow(one)[0]):.2f} mrad')
    errors, times = follow(Adaptive(ARM))
    first = rms_mrad(errors[: round(PERIOD_S / STEP_S)])
    print(f'adaptive, load unknown: {rms_mrad(errors):.2f} mrad, in the first period {first:.2f}')
    print(f'a step of it takes {1e6 * np.median(times):.0f} us of 1000')


if __name__ == '__main__':
    main()
