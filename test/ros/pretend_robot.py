# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A pretend robot: an arm in MuJoCo with its own publisher and receiver, as a driver has."""

from random import Random
import time

from builtin_interfaces.msg import Time
import mujoco
import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.arm import load
from franka_dynamics.urdf.mjcf_writer import mjcf_text

from .conftest import COMMAND

FR3 = load('fr3')
ANSWER_S = 0.2  # a step waits so long for the node's torque; then it takes the last one


class PretendRobot:
    """
    An FR3 that adds its gravity torque, and stands by its brakes until the first torque comes.

    Its time goes on by `period` [s] with each state, however slow this machine is. `extra` joints
    rest beside the arm's; `disorder` puts all of them into another order each time. `effort` is
    what its states have: measured, nan, zero or none.
    """

    def __init__(
        self,
        probe,
        *,
        names=FR3.joint_names,
        extra=(),
        disorder=False,
        effort='measured',
        period=2e-3,
        best_effort=False,
        topic='joint_states',
        stamps=True,
        velocities=True,
    ) -> None:
        self._probe, self._extra = probe, list(extra)
        self._random = Random(1) if disorder else None
        self.names, self._effort, self.period = list(names), effort, period
        self._stamps, self._velocities = stamps, velocities
        self.model = mujoco.MjModel.from_xml_string(mjcf_text(FR3))
        self.model.opt.timestep = 1e-3
        self.data, self._still = mujoco.MjData(self.model), mujoco.MjData(self.model)
        self.data.qpos[:] = FR3.home
        self.time, self.locked, self.torques = 100.0, False, []
        self._answers = True
        kind = ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE
        qos = QoSProfile(depth=1, reliability=kind)
        self.states = probe.create_publisher(JointState, topic, qos)
        probe.create_subscription(Float64MultiArray, COMMAND, self._take, 10)
        self._references = probe.create_publisher(JointTrajectory, 'feedforward/reference', 10)

    def _take(self, message) -> None:
        self.torques.append(np.array(message.data))

    @property
    def drift(self) -> float:
        """Largest distance of a joint from its home position [rad]."""
        return float(np.abs(self.data.qpos - FR3.home).max())

    def gravity(self):
        """Return the gravity torque by MuJoCo [N m]."""
        self._still.qpos[:] = self.data.qpos
        mujoco.mj_forward(self.model, self._still)
        return self._still.qfrc_bias.copy()

    def message(self) -> JointState:
        """Return the present state."""
        measured = self.gravity() + (self.torques[-1] if self.torques else 0.0)
        efforts = {'measured': measured, 'nan': [np.nan] * 7, 'zero': [0.0] * 7, 'none': []}
        effort = [float(one) for one in efforts[self._effort]]
        state = self.data.qpos.tolist(), self.data.qvel.tolist(), effort or [0.0] * 7
        rows = list(zip(self.names, *state))
        rows += [(name, 0.035, 0.0, 0.0) for name in self._extra]
        if self._random:
            self._random.shuffle(rows)
        name, q, dq, tau = zip(*rows)
        state = JointState(name=name, position=q, velocity=dq if self._velocities else [])
        state.effort = tau if effort else []
        if self._stamps:
            nanoseconds = round(self.time * 1e9)
            state.header.stamp = Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        return state

    def step(self) -> None:
        """Publish the state, wait for its torque, and move on by a period."""
        before, end = len(self.torques), time.monotonic() + (ANSWER_S if self._answers else 2e-3)
        self.states.publish(self.message())
        self._probe.spin(1e-3)
        while self.torques and len(self.torques) == before and time.monotonic() < end:
            self._probe.spin(1e-3)
        self._answers = len(self.torques) > before
        self.move()

    def move(self) -> None:
        """Let a period pass."""
        self.time += self.period
        if not self.torques or self.locked:
            self.data.qvel[:] = 0.0
            return
        for _ in range(round(self.period / self.model.opt.timestep)):
            self.data.ctrl[:] = self.torques[-1] + self.gravity()
            mujoco.mj_step(self.model, self.data)

    def until(self, done, what: str) -> None:
        """Go on until `done` returns True."""

        def goes_on():
            self.step()
            return done()

        self._probe.until(self.states.get_subscription_count, 'a listener to joint states')
        self._probe.until(goes_on, what)

    def until_says(self, text: str) -> None:
        """Go on until the node's typed status contains a text."""
        self.until(lambda: self._probe.says('feedforward', text), text)

    def run(self, seconds: float) -> None:
        """Go on for a time [s]."""
        end = self.time + seconds
        while self.time < end:
            self.step()

    def send(self, rows, times=(0.0,), **fields) -> None:
        """Send a reference of positions, one row for each time."""
        self._probe.until(self._references.get_subscription_count, 'a listener to references')
        message = JointTrajectory(joint_names=self.names)
        for k, (q, at) in enumerate(zip(rows, times)):
            point = JointTrajectoryPoint(positions=list(map(float, q)))
            point.time_from_start.sec, point.time_from_start.nanosec = int(at), round(at % 1 * 1e9)
            for name, values in fields.items():
                setattr(point, name, list(map(float, values[k])))
            message.points.append(point)
        self._references.publish(message)
