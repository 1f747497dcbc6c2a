# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node of a simulated arm, with the topics of a real arm or of an arm in Gazebo."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
import gc
import math
import os
from pathlib import Path
import sys
import time
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import rclpy
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from .command_receiver import CommandReceiver
from .. import parameter_tables as tables
from .. import SIMULATION_NAMESPACE
from ..messages import joint_state_template, seconds_to_stamp
from ..node_process import run_node, StopRequest
from ..parameters import CheckedParameters, declare_parameters
from ..rclpy_private import Executor
from ..realtime import REALTIME_OFF
from ..status import DiagnosticSubject, DurationWindow, StatusKey, StatusPublisher
from ..topics import PUBLISHER_QOS, QOS_OVERRIDES
from ...arm import ArmDescription
from ...arrays import Array
from ...control.settings import Settings
from ...errors import SettingsError
from ...files import expanded_path
from ...simulation.arm_simulation import ArmSimulation, SensorReading, SimulationSettings
from ...simulation.mujoco_model import TIMESTEP_S
from ...simulation.receiver import ReceiverState
from ...validation.urdf_check import checked_arm_from_urdf

_MAX_LAG_S = 0.05  # the simulation does not make up for a longer delay [s]
_POLL_PERIOD_S = 0.05
# Steps in a row without a command, after which lockstep becomes real time.
_MAX_UNANSWERED_STEPS = 10
_REAL_TIME_FACTOR_SPAN = 5  # the factor is a mean over so many diagnostics of one second
# Said for an arm whose drives have inertia that is not simulated.
_IDEAL_ARM_WARNING = (
    "ideal: joints without their drives' inertia, for which a node's default gains (kp: [-1.0]) "
    'are too high: set kp and kd of the node'
)


class _Pace(NamedTuple):
    """Real and simulated time [s] when diagnostics were published."""

    real: float
    simulated: float


class SimulatorNode(CheckedParameters, Node):
    """
    A node that simulates an arm, publishes its states and takes torques.

    States come at 1 kHz of simulated time.
    When torques cease, the node stops the arm by torques of its own model. Then it holds the arm
    or, if the arm compensates gravity itself, applies zero torque.
    """

    def __init__(self, **node_options: Any) -> None:
        """Make the node for the arm its parameters select; raise an error if they are wrong."""
        super().__init__('simulator', **{'namespace': SIMULATION_NAMESPACE, **node_options})
        parameters = declare_parameters(self, tables.parameter_specs('simulator'))
        arm = _simulated_arm(parameters)
        for sentence in arm.repairs:
            self.get_logger().warning(sentence)
        if parameters['ideal'] and arm.simulated_armature is not None:
            self.get_logger().warning(_IDEAL_ARM_WARNING)
        self._publishes_clock: bool = parameters['publish_clock']
        if self._publishes_clock and self.get_parameter('use_sim_time').value:
            raise SettingsError(
                'publish_clock and use_sim_time are both set: this arm would wait for its own '
                'clock. Leave use_sim_time false here.'
            )
        settings = _receiver_settings(parameters)
        # The receiver comes before the simulation: it names a gravity_vector at fault.
        self._receiver = CommandReceiver(self, arm, settings, self._on_torque_taken)
        simulated = _simulation_settings(parameters, arm, settings.gravity_in_space(arm))
        self._simulation = ArmSimulation(arm, simulated)
        lockstep_rate = parameters['lockstep_rate']
        self._is_lockstep_wanted = lockstep_rate > 0.0
        self._shortest_step_s = 1.0 / lockstep_rate if lockstep_rate else 0.0  # of real time
        self._lockstep_timeout = parameters['lockstep_timeout']
        self._unanswered_steps = 0  # steps since the last new command
        self._make_publishers(arm)
        self._has_new_torque = False
        self._published_at = 0.0
        self._round_trips = DurationWindow()
        self._paces: deque[_Pace] = deque(maxlen=_REAL_TIME_FACTOR_SPAN + 1)
        self._commanded_step_count = 0
        self._missed_step_count = 0
        self._step_log_path = _emptied_step_log(parameters['step_log'])

    def _make_publishers(self, arm: ArmDescription) -> None:
        """Make the publishers of joint states, diagnostics and, if required, of the clock."""
        # Stamps advance with simulated time; if simulated time is slower than real time, stamps
        # fall behind the clock.
        now = self.get_clock().now().nanoseconds * 1e-9
        self._start_stamp = 0.0 if self._publishes_clock else now
        self._writer = joint_state_template(arm.joint_names)
        self._state_publisher = self.create_publisher(
            JointState,
            'joint_states',
            PUBLISHER_QOS,
            qos_overriding_options=QOS_OVERRIDES,
        )
        self._clock_publisher = None
        if self._publishes_clock:
            self._clock_publisher = self.create_publisher(Clock, 'clock', PUBLISHER_QOS)
        self._diagnostics = StatusPublisher(self, arm.name)

    def run(self, stop: StopRequest) -> int:
        """Simulate the arm until a signal or ROS's shutdown; return the exit code 0."""
        # Exempt all present objects from later garbage collections, which would delay steps.
        gc.collect()
        gc.freeze()
        deadline = time.perf_counter()
        with Executor() as executor, self._step_log_path.open('wb') as log:
            executor.add_node(self)
            while not stop.is_requested and rclpy.ok():
                deadline = self._run_step(executor, deadline, stop, log)
        return 0

    def _run_step(self, executor: Any, deadline: float, stop: StopRequest, log: BinaryIO) -> float:
        """Publish a joint state, await a step's time, simulate it; return when it was due [s]."""
        reading = self._simulation.read()
        stamp = self._start_stamp + self._simulation.time
        self._publish_state(reading, stamp)
        deadline = self._wait_for_step(executor, deadline, stop)
        reading.write_step(log, stamp)
        torque = self._receiver.step(reading.time, reading.position, reading.velocity)
        self._simulation.step(torque, is_new=self._has_new_torque)
        if self._simulation.is_braked is self._receiver.is_arm_held:
            self._log_brake_change()
        if self._receiver.state is not ReceiverState.WAITING:
            self._commanded_step_count += 1
            if not self._has_new_torque:
                self._missed_step_count += 1
        self._has_new_torque = False
        self._receiver.publish_status_if_due()
        if time.monotonic() >= self._diagnostics.next_publication_time:
            self._publish_diagnostics()
        return deadline

    def _log_brake_change(self) -> None:
        """Store and log that the brakes have opened, or why they have closed for good."""
        self._receiver.is_arm_held = not self._simulation.is_braked
        self._diagnostics.next_publication_time = 0.0
        if self._simulation.runaway_text:
            self.get_logger().error(self._simulation.runaway_text)
        elif self._receiver.is_arm_held:
            wait = f'{self._simulation.settings.brake_release_after:g} s'
            self.get_logger().info(f'the brakes are open: commands came without a gap for {wait}')

    def _wait_for_step(self, executor: Any, deadline: float, stop: StopRequest) -> float:
        """Serve the node's callbacks until the next step is due; return when that is [s]."""
        has_sender = self._receiver.state is not ReceiverState.WAITING
        is_answered = self._unanswered_steps < _MAX_UNANSWERED_STEPS
        if self._is_lockstep_wanted and has_sender and is_answered:
            deadline = self._wait_in_lockstep(executor, deadline, stop)
        else:
            deadline = self._wait_in_real_time(executor, deadline, stop)
        self._unanswered_steps = 0 if self._has_new_torque else self._unanswered_steps + 1
        return deadline

    def _wait_in_lockstep(self, executor: Any, deadline: float, stop: StopRequest) -> float:
        """Wait for a new torque or the time-out, and then until the shortest step is over."""
        timeout = time.perf_counter() + self._lockstep_timeout
        self._serve_until(timeout, executor, stop, or_torque=True)
        deadline = max(deadline + self._shortest_step_s, time.perf_counter() - _MAX_LAG_S)
        self._serve_until(deadline, executor, stop)
        return deadline

    def _wait_in_real_time(self, executor: Any, deadline: float, stop: StopRequest) -> float:
        """Wait until a step's time is over; in lockstep without a sender, for a torque at most."""
        deadline += TIMESTEP_S
        if time.perf_counter() - deadline > _MAX_LAG_S:
            # No burst of steps makes up for a long delay: all would have the same command.
            deadline = time.perf_counter()
        self._serve_until(deadline, executor, stop, or_torque=self._is_lockstep_wanted)
        return deadline

    def _serve_until(
        self, end: float, executor: Any, stop: StopRequest, *, or_torque: bool = False
    ) -> None:
        """Serve callbacks until `end` [s], a signal or, if `or_torque`, a new torque."""
        while (left := end - time.perf_counter()) > 0.0:
            if stop.is_requested or (or_torque and self._has_new_torque):
                return
            executor.spin_once(timeout_sec=min(left, _POLL_PERIOD_S))

    def _publish_state(self, reading: SensorReading, stamp_s: float) -> None:
        """Publish a joint state with stamp `stamp_s`, and that time on /clock if required."""
        stamp = seconds_to_stamp(stamp_s)
        if self._clock_publisher is not None:
            self._clock_publisher.publish(Clock(clock=stamp))
        message = self._writer.serialize(stamp, reading.position, reading.velocity, reading.effort)
        self._published_at = time.perf_counter()
        self._state_publisher.publish(message)

    def _on_torque_taken(self) -> None:
        """Store that a torque was accepted and, if first since a joint state, the time between."""
        if not self._has_new_torque:
            self._round_trips.append(time.perf_counter() - self._published_at)
        self._has_new_torque = True

    def _real_time_factor(self) -> float:
        """Return simulated per real time over the last diagnostics; NaN before there are two."""
        self._paces.append(_Pace(time.monotonic(), self._simulation.time))
        first = self._paces[0]
        last = self._paces[-1]
        if last.real <= first.real:
            return math.nan
        return (last.simulated - first.simulated) / (last.real - first.real)

    def _publish_diagnostics(self) -> None:
        """Publish the arm's brakes, stops, simulated time and counts of steps on /diagnostics."""
        is_braked = self._simulation.is_braked
        joints_at_stops = self._simulation.joints_at_stops
        values = {
            'braked': is_braked,
            'joints at their stops': ', '.join(joints_at_stops) or 'none',
            StatusKey.SIMULATED_TIME: float(self._simulation.time),
            StatusKey.REAL_TIME_FACTOR: self._real_time_factor(),
            StatusKey.COMMANDED_STEPS: self._commanded_step_count,
            StatusKey.MISSED_STEPS: self._missed_step_count,
            **self._round_trips.percentiles_us(StatusKey.ROUND_TRIP),
        }
        level = 'WARN' if is_braked or joints_at_stops else 'OK'
        message = 'the brakes are closed' if is_braked else 'the brakes are open'
        if self._simulation.runaway_text:
            level = 'ERROR'
            message = self._simulation.runaway_text
        self._diagnostics.publish_rows((DiagnosticSubject.SIMULATED_ARM, level, message, values))


def _simulated_arm(parameters: dict[str, Any]) -> ArmDescription:
    """Return the arm that the parameters select, as the URDF in model_source, if any, has it."""
    arm = tables.arm_from_parameters(parameters)
    file = parameters['model_source']
    if file == tables.ARM_MODEL_SOURCE:
        return arm
    path = expanded_path(file)
    return checked_arm_from_urdf(path, arm, source=file, accept_unknown_inertials=True)[0]


def _receiver_settings(parameters: dict[str, Any]) -> Settings:
    """Return the settings by which the receiver brakes and holds the arm without torques."""
    compensates = parameters['gravity_compensation']
    return Settings(
        target='fci' if compensates else 'mujoco',
        # The simulated arm compensates gravity as if it stood upright.
        mount_tilt_compensated_by='node' if compensates else '',
        gravity_vector=tuple(parameters['gravity_vector']),
        payload=tuple(parameters['payload']),
        payload_known_to_robot=False,
    )


def _simulation_settings(
    parameters: dict[str, Any], arm: ArmDescription, gravity: Array
) -> SimulationSettings:
    """Return the simulation settings of parameters; raise SettingsError for a wrong noise."""
    noise = list(parameters['noise'])
    if len(noise) != 3 or not all(0.0 <= deviation < np.inf for deviation in noise):
        raise SettingsError(
            f'noise must be three finite numbers >= 0, of position, velocity, effort; got {noise}.'
        )
    settings = replace(
        tables.dataclass_from_parameters(SimulationSettings, parameters),
        **dict(zip(('position_noise', 'velocity_noise', 'effort_noise'), noise)),
        start_position=np.array(parameters['start']) if len(parameters['start']) else None,
        gravity=tuple(gravity.tolist()),
        payload=Settings(payload=tuple(parameters['payload'])).payload_inertia(),
    )
    return settings if parameters['ideal'] else settings.with_real_effects(arm)


def _emptied_step_log(path: str) -> Path:
    """Empty a step log and return its path (of '': the null device), or raise SettingsError."""
    log = expanded_path(path or os.devnull)
    try:
        log.open('wb').close()
    except OSError as error:
        raise SettingsError(f'step_log {path} cannot be written: {error.strerror}.') from error
    return log


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until a signal or ROS ends it; return exit code 0, or 2 if it cannot start."""
    return run_node(SimulatorNode, SimulatorNode.run, args, realtime_default=REALTIME_OFF)


if __name__ == '__main__':
    sys.exit(main())
