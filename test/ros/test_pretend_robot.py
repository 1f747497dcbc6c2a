# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What users of real drivers report: the arm is held, or every door shows the reason."""

from random import Random
import time

from builtin_interfaces.msg import Time
import mujoco
import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.ros.node_client import NodeClient
from franka_dynamics.urdf.mjcf_writer import mjcf_text

from .conftest import COMMAND

FR3 = load('fr3')
ANSWER_S = 0.2  # a step waits so long for the node's torque; then it takes the last one
NODE = 'feedforward'
# What a robot that adds its gravity exactly drifts by [rad]; the drives' friction holds it, too.
HELD_RAD = 1e-3
FINGERS = ('fr3_finger_joint1', 'fr3_finger_joint2')


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
        self.time, self.torques = 100.0, []
        self._answers = True
        kind = ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE
        qos = QoSProfile(depth=1, reliability=kind)
        self.states = probe.create_publisher(JointState, topic, qos)
        probe.create_subscription(Float64MultiArray, COMMAND, self._take, 10)

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
        if not self.torques:
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


@pytest.fixture
def robot(probe):
    return lambda **given: PretendRobot(probe, **given)


@pytest.fixture
def node(start_node):
    return lambda **given: start_node(**{'robot_type': 'fr3', 'target': 'fci', **given})


def running(robot, seconds=0.5):
    """Let torques begin, and require that they hold the arm for a time [s]."""
    robot.until(lambda: robot.torques, 'a torque')
    robot.run(seconds)
    assert robot.drift < HELD_RAD
    return robot


@pytest.mark.parametrize(
    'given',
    [
        {'extra': FINGERS, 'disorder': True, 'effort': 'nan', 'best_effort': True},
        {'extra': [f'left_{name}' for name in FR3.joint_names], 'effort': 'zero'},
        {'effort': 'none', 'period': 5e-3},
    ],
    ids=['fingers in any order, NaN best effort', 'two prefixes, zero effort', 'no effort'],
)
def test_states_as_drivers_publish_them_are_enough(given, robot, node):
    node()
    running(robot(**given))


@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        ({'names': [f'fer_joint{k}' for k in range(1, 8)]}, 'lacks fr3_joint1'),
        ({'names': [f'left_{name}' for name in FR3.joint_names]}, 'it has left_fr3_joint1'),
        ({'velocities': False}, '0 of velocity'),
        ({'stamps': False}, 'header.stamp of the joint states is not set'),
    ],
    ids=['another arm', 'prefix', 'no velocity', 'no stamp'],
)
def test_the_reason_for_silence_is_in_log_status_and_answer_of_the_node(
    given, reason, probe, robot, node
):
    process, arm = node(), robot(**given)
    arm.until_says(reason)
    arm.until(lambda: 'no torque yet: ' in process.text and reason in process.text, 'the log')
    assert 'listening' not in process.text
    with NodeClient(NODE, 20.0, arm.step) as client:
        assert reason in client.status_sentence()
    assert not arm.torques
