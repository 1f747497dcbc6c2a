# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller and a simulated arm in closed loop, which the tests share."""

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import Feedforward, State, StateLimits, Stop
from franka_dynamics.control.limits import MAX_STEP_S, MIN_GOOD_STATE_COUNT
from franka_dynamics.control.settings import Settings
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

FER = load('fer')
MUJOCO = Settings(target='mujoco')
# Gains of a weak PD [N m/rad, N m s/rad].
KP = (60.0, 60.0, 60.0, 60.0, 15.0, 15.0, 10.0)
KD = (6.0, 6.0, 6.0, 6.0, 1.0, 1.0, 0.5)
PD = Settings(target='mujoco', kp=KP, kd=KD)
STILL = np.zeros(7)
HOME = np.array(FER.home)
MOVING = 0.3 * np.eye(7)[0]
GRAVITY = NewtonEulerModel(FER).gravity(HOME)


def payload(mass):
    """Return the ten numbers of a body 0.1 m before the flange."""
    return (
        mass,
        0.0,
        0.0,
        0.1,
        *[0.003 * mass * one for one in (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)],
    )


def core(settings=MUJOCO, *, arm=FER, applied_when_silent=False, limits=None, **options):
    """Return a core that takes states without age; by default one of a node."""
    limits = limits or StateLimits(max_state_age=0.0)
    return Feedforward(
        arm,
        limits=limits,
        applied_when_silent=applied_when_silent,
        **options,
        **vars(settings),
    )


def sent_at_rest(controller, count, *, q=FER.home, begin=1.0, period=1e-3, **more):
    """Return the torques that a core sends for states of a resting arm."""
    sent = []
    for stamp in (begin + period * np.arange(count)).tolist():
        torque = controller.step(q, np.zeros(len(q)), stamp, **more)
        if controller.sends:
            sent.append(torque)
    return sent


def require_continuous(q, dq, ddq, atol_q, atol_dq):
    """Fail unless positions (k, n) each 1 ms are the integral of velocities, these of ddq."""
    for values, slopes, atol in ((q, dq, atol_q), (dq, ddq, atol_dq)):
        means = 0.5 * (slopes[1:] + slopes[:-1])
        np.testing.assert_allclose(np.diff(values, axis=0), 1e-3 * means, rtol=0.0, atol=atol)


class Script:
    """A core and the joint states that it is given, one per millisecond."""

    def __init__(self, settings=PD, **options):
        self.core = core(settings, **options)
        self.time = 1.0
        self.q = HOME.copy()
        self.sent = []
        self.noise = 1e-13

    def give(self, count=1, dq=STILL, impossible=None, **more):
        for _ in range(count):
            self.time += 1e-3
            self.q = self.q + 1e-3 * dq
            self.noise = -self.noise  # no encoder's position repeats
            q = self.q + self.noise
            q[5] = q[5] if impossible is None else impossible
            torque = self.core.step(q, dq, self.time, **more)
            if self.core.sends:
                self.sent.append(torque)
        return self

    def tick(self, count=1):
        for _ in range(count):
            self.time += 1e-3
            torque = self.core.tick(self.time)
            if self.core.sends:
                self.sent.append(torque)
        return self

    def leap(self, by):
        self.q = self.q + by
        return self

    def drive(self):
        """Give states of an arm that gets beyond twice its limits in spite of braking."""
        for speed in np.linspace(0.3, 4.8, 300):
            self.give(dq=speed * np.ones(7))
        return self

    def stop(self, then=Stop.LET_GO, why='test'):
        self.core.stop(why, then)
        return self

    def start(self):
        self.core.start()
        return self

    def running(self):
        self.give(MIN_GOOD_STATE_COUNT)
        assert self.core.state is State.RUNNING
        return self

    def braking(self, hold):
        self.running().give(3, MOVING).stop(Stop.HOLD if hold else Stop.LET_GO)
        assert self.core.state is State.BRAKING
        return self

    def holding(self):
        self.braking(True).give(60)
        assert self.core.state is State.HOLDING
        return self

    def stopping(self, faulty=False):
        self.running().give(3, MOVING)  # the PD torque must be ramped down
        self.core.reject_state('test', self.time)
        assert self.core.state is State.STOPPING
        return self.stop(Stop.HOLD) if faulty else self


class Loop:
    """A controller and a simulated arm, stepped in turn."""

    def __init__(
        self,
        settings=MUJOCO,
        *,
        description=FER,
        controller=None,
        measures=True,
        **simulation,
    ):
        simulation.setdefault('brake_release_after', 0.1)
        self.arm = ArmSimulation(description, SimulationSettings(**simulation))
        self.controller = core(settings, arm=description, **(controller or {}))
        self.measures = measures  # whether the states carry an effort
        self.command = None
        self.published = []
        self.fastest = 0.0  # largest speed of a joint so far [rad/s]

    @property
    def speed(self):
        """The largest speed of a joint now [rad/s]."""
        return max(map(abs, self.arm.data.qvel.tolist()))

    def move(self, joint, by, seconds=1.2):
        """Request a motion of one joint from rest to rest."""
        q = self.controller.latest.q
        path = q + np.outer([0.0, by], np.eye(len(q))[joint])
        self.controller.follow(path, [0.0, seconds], np.zeros_like(path))

    def follow(self, request):
        """Follow a requested motion; return the planned one."""
        return self.controller.follow(**request.follow_kwargs(self.controller.description))

    def swing(self, period=4.0, speed=0.5):
        """Swing all joints until one of them is fast enough."""
        self.follow(multisine(self.controller.description, period, 0.4))
        while self.speed < speed:
            self.run(0.005)
        return self

    def run(self, seconds, each=lambda reading: None):
        for _ in range(round(seconds / MAX_STEP_S)):
            reading = self.arm.read()
            effort = reading.effort if self.measures else None
            state = reading.position, reading.velocity, reading.time
            torque = self.controller.step(*state, effort=effort)
            if self.controller.sends:
                self.command = torque
                self.published.append(torque)
            self.arm.step(self.command, is_new=self.controller.sends)
            self.fastest = max(self.fastest, self.speed)
            each(reading)
        return self

    def tick(self, count):
        """Let time pass without states; return the last torque."""
        for _ in range(count):
            torque = self.controller.tick(self.arm.time)
            sends = self.controller.sends
            self.command = torque if sends else self.command
            self.arm.step(torque, is_new=sends)
            self.fastest = max(self.fastest, self.speed)
        return torque

    def until(self, state, seconds):
        """Run until the controller is in a state; fail after some seconds."""
        end = self.arm.time + seconds
        while self.controller.state is not state:
            assert self.arm.time < end, self.controller.status
            self.run(MAX_STEP_S)
        return self
