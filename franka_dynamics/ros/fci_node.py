# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot over FCI as a driver: joint states out, torques in, or feedforward inside the loop.

One thread answers the robot and hears commands; a second one serves parameters, services and
references, and has the time in which the first waits for the next state.
"""

from __future__ import annotations

from collections.abc import Sequence
import gc
import sys
import threading
import time
from typing import Any

import numpy as np
import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from .fci_diagnostics import FciDiagnostics
from .messages import effort_message, stamp_from_seconds, state_message, taken
from .model_source import checked_controller
from .node_process import REFUSED, run_node, StopRequest
from .node_settings import load_arm, made_of, settings_from
from .parameter_tables import live_table, table
from .parameters import declare, LiveParameters
from .qos import PUBLISHER_QOS, qos_overriding_options, REFERENCE_QOS, STATE_QOS
from .trajectories import read_trajectory
from .two_threads import CycleCalls, NodePart, ServiceThread
from ..arm import ArmDescription
from ..control.control_law import ControlLaw
from ..control.planning import follow_request
from ..control.settings import Settings
from ..control.supervision import SupervisionLimits
from ..dynamics.model import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import (
    CommandRefusedError,
    CrosscheckError,
    FciError,
    FrankaDynamicsError,
    SettingsError,
    shortened,
)
from ..fci.connection import CollisionThresholds, FciConnection, FciReading, positive, StampClock
from ..fci.model_difference import compare_models, ModelDifference
from ..fci.preflight import known_to_robot, Preflight
from ..fci.sources import CommandSource, FeedforwardSource
from ..fci.torque_loop import LoopState, TorqueLoop

NODE_NAME = 'fci'
STATES_ONLY, COMMAND, FEEDFORWARD = 'states_only', 'command', 'feedforward'
_LOG_PERIOD_S = 1.0
# The robot itself stops after 20 lost packets in a row, and libfranka after a second of silence; a
# state that is read is fresh. What is left to watch are the values.
_LONGEST_GAP_S = 0.2


class FciNode(Node):
    """
    Drives one robot.

    Two threads serve it. The first answers the robot and takes commands, the second serves
    `service_part`, which is all else. What the second changes of the loop it has the first do
    between two cycles, and references it hands over under a lock.

    Raises
    ------
    SettingsError, DescriptionError
        If a parameter or the arm is at fault.
    CrosscheckError
        If the two models of the arm disagree.
    FciError
        If the robot cannot be reached.
    MissingDependencyError
        If pylibfranka is not installed.

    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        self.calls = CycleCalls()
        # Of commands, which no executor serves: the loop takes them itself, between two cycles.
        self._command_group = MutuallyExclusiveCallbackGroup()
        self.service_part = NodePart(
            self, lambda entity: entity.callback_group is not self._command_group
        )
        self._lock = threading.RLock()
        parameters = declare(self, table('fci'))
        if not parameters['robot_ip']:
            raise SettingsError('robot_ip is empty; give the address of the control unit.')
        description = _arm(parameters)
        self._controller, _ = checked_controller(
            description,
            _settings(parameters),
            SupervisionLimits(
                state_timeout=_LONGEST_GAP_S,
                max_state_age=0.0,
                recovery_samples=parameters['recovery_samples'],
            ),
            parameters,
        )
        collision = made_of(CollisionThresholds, parameters, '{}_thresholds')
        threshold = positive('preflight_torque', parameters['preflight_torque'], 7)
        self._names = list(description.joint_names)
        self._mode = parameters['control']
        self._connection = FciConnection(
            parameters['robot_ip'],
            enforce_realtime=parameters['enforce_realtime'],
            timeout=parameters['connect_timeout'],
        )
        if self._mode != STATES_ONLY:
            self._connection.set_collision_thresholds(collision)
        self._source = (
            FeedforwardSource(self._controller)
            if self._mode == FEEDFORWARD
            else CommandSource(self._controller, parameters['command_timeout'])
        )
        self._preflight = Preflight(
            description,
            load_arm({**parameters, 'hand': 'none'}),
            threshold,
            lambda: (self._controller.settings, self._controller.terms),
        )
        self._loop = TorqueLoop(
            self._connection,
            self._source,
            self._preflight,
            description.limit('effort'),
            description.limit('effort_rate'),
        )
        self._stamps = StampClock()
        self._logged_state, self._logged_stops = self._loop.state, 0
        self._open_topics()
        self._live = LiveParameters(self, table('fci'), live_table('fci'), self._require_usable)
        self._diagnostics = FciDiagnostics(self, self._loop, self._controller, self._preflight)
        self._connection.read()
        self._robot_model = self._connection.load_model()
        self._compared_states = parameters['crosscheck_states']
        self._note_model(self._compare_models(self._controller.settings))
        if parameters['autostart'] and self._mode != STATES_ONLY:
            self._loop.enable()

    def run(self, stop: StopRequest) -> int:
        """
        Drive until asked to stop; whatever ends it, the torque ramps to zero first.

        REFUSED if the robot is lost; an exception is raised again once the motion has ended.
        """
        # As in the feedforward node: no walks through what set-up left behind.
        gc.collect()
        gc.freeze()
        services = ServiceThread(self.service_part, self._run_beside)
        self.calls.attach(lambda: None)  # the robot wakes this thread every millisecond
        try:
            while rclpy.ok() and not (stop.requested and self._at_rest()):
                self._cycle()
                self._take_command()
                self.calls.run_one()
                if services.failure is not None:
                    raise services.failure
            self._ramp_out('the context was shut down')
            self.get_logger().info(self._diagnostics.summary())
            return 0
        except FciError as error:
            self._diagnostics.publish_all()
            print(f'{error.fault}: {error}', file=sys.stderr)
            return REFUSED
        except BaseException as error:
            self._loop.fail(error if isinstance(error, Exception) else RuntimeError(repr(error)))
            self._ramp_out('the node failed')
            raise
        finally:
            self.calls.detach()
            services.close()

    def _ramp_out(self, reason: str) -> None:
        """Answer states, and do nothing else, until nothing is commanded any more."""
        self._loop.disable(reason)
        try:
            while self._loop.state in (LoopState.CONTROLLING, LoopState.STOPPING):
                reading, stamp = self._read()
                self._loop.answer(reading, stamp, time.monotonic())
        except FciError as error:
            print(f'{error.fault}: {error}', file=sys.stderr)

    def _read(self) -> tuple[FciReading, float]:
        """Return the robot's next state, and its stamp by this machine's clock [s]."""
        reading = self._loop.read()
        return reading, self._stamps.stamp(reading.time, self.get_clock().now().nanoseconds * 1e-9)

    def _cycle(self) -> None:
        reading, stamp = self._read()
        began = time.perf_counter()
        written = self._loop.written
        with self._lock:
            self._loop.answer(reading, stamp, time.monotonic())
        self._diagnostics.note_cycle(
            reading, began, time.perf_counter() if self._loop.written > written else None
        )
        self._publish(reading, stamp)
        self._log_changes()
        if self._loop.failure is not None and self._loop.state in (
            LoopState.IDLE,
            LoopState.FAULT,
        ):
            raise self._loop.failure

    def _run_beside(self) -> float:
        """Do what takes longer than a cycle may; return for how long nothing will be due [s]."""
        self._live.apply(self._apply_settings)
        self._controller.check_models(self._lock)
        return self._diagnostics.times.run(self._diagnostics.publish_all)

    def _at_rest(self) -> bool:
        """Ask the loop to end, and return whether it has."""
        self._loop.disable('the node was asked to end')
        return self._loop.state in (LoopState.IDLE, LoopState.FAULT)

    def _open_topics(self) -> None:
        self._commands: Any = None
        options: dict[str, Any] = {'qos_overriding_options': qos_overriding_options()}
        self._states = self.create_publisher(JointState, 'joint_states', PUBLISHER_QOS, **options)
        self._sent = self.create_publisher(JointState, '~/feedforward', PUBLISHER_QOS, **options)
        if self._mode == COMMAND:
            self._commands = self.create_subscription(
                Float64MultiArray,
                '~/command',
                lambda _: None,
                STATE_QOS,
                callback_group=self._command_group,
                **options,
            )
        elif self._mode == FEEDFORWARD:
            self.create_subscription(
                JointTrajectory,
                '~/reference',
                self._on_reference,
                REFERENCE_QOS,
                raw=True,
                **options,
            )
        if self._mode != STATES_ONLY:
            self.create_service(SetBool, '~/enable', self._on_enable)

    def _compare_models(self, settings: Settings) -> ModelDifference:
        """Compare what the robot should know of the arm with the model that it serves."""
        return compare_models(
            self._robot_model,
            self._connection.state,
            PinocchioModel(known_to_robot(self._controller.description, settings), GRAVITY),
            self._preflight.threshold,
            count=self._compared_states,
        )

    def _note_model(self, difference: ModelDifference) -> None:
        self._diagnostics.note_model(difference)
        self._preflight.model_refusal = difference.refusal()
        self._preflight.restart()
        self.get_logger().info(difference.sentence())

    @property
    def _commanding(self) -> bool:
        return self._loop.state in (LoopState.CONTROLLING, LoopState.STOPPING)

    def _require_usable(self, merged: dict[str, Any]) -> None:
        settings = _settings(merged)
        settings.validate(self._controller.description)
        changed = _gravity_changed(self._controller.settings, settings)
        if changed and self._commanding:
            raise SettingsError(
                f'{" and ".join(changed)} cannot change while torques are commanded, because the '
                'check at rest would not cover it; call ~/enable with false first.'
            )

    def _apply_settings(self, live: dict[str, Any]) -> None:
        law = self._controller.prepare(_settings(live))
        difference = (
            self._compare_models(law.settings)
            if _gravity_changed(self._controller.settings, law.settings)
            else None
        )
        self.calls.call(lambda: self._use(law, difference))

    def _use(self, law: ControlLaw, difference: ModelDifference | None) -> None:
        """Use other settings between two cycles; with other gravity nothing is commanded."""
        if difference is not None and self._commanding:
            # Torques began after the change was judged.
            self._loop.disable('gravity was set otherwise as torques began')
        self._controller.use(law)
        if difference is not None:
            self._note_model(difference)

    def _publish(self, reading: FciReading, stamp: float) -> None:
        time_ = stamp_from_seconds(stamp)
        self._states.publish(
            state_message(time_, self._names, reading.q, reading.dq, reading.effort)
        )
        if self._loop.state is LoopState.CONTROLLING and self._sent.get_subscription_count() > 0:
            self._sent.publish(effort_message(time_, self._names, self._loop.torque))

    def _log_changes(self) -> None:
        loop = self._loop
        if loop.stops > self._logged_stops:
            self._logged_stops = loop.stops
            if loop.latched:
                self.get_logger().error(f'{loop.last_stop}; call ~/enable once the cause is gone')
            else:
                self.get_logger().warning(f'stopping: {loop.last_stop}')
        elif loop.state is not self._logged_state:
            self.get_logger().info(f'{loop.state.value}: {loop.reason}')
        else:
            return
        self._logged_state = loop.state
        self._diagnostics.times.note_change()

    def _take_command(self) -> None:
        if self._commands is None:
            return
        try:
            waiting = taken(self._commands)
        except RCLError as error:  # what somebody sent is no such message
            self._diagnostics.refused += 1
            self.get_logger().error(
                f'refused: a command that cannot be read: {shortened(str(error), 200)}',
                throttle_duration_sec=_LOG_PERIOD_S,
            )
            return
        if waiting is None:
            return
        message, info = waiting
        assert isinstance(self._source, CommandSource), 'only subscribed in control command'
        try:
            self._source.take(
                np.array(message.data), time.monotonic(), info['publication_sequence_number']
            )
        except CommandRefusedError as error:
            self._diagnostics.refused += 1
            self.get_logger().error(f'refused: {error}', throttle_duration_sec=_LOG_PERIOD_S)

    def _on_reference(self, data: bytes) -> None:
        try:
            follow_request(self._controller, read_trajectory(data), self._lock)
        except FrankaDynamicsError as error:
            self._diagnostics.refused += 1
            self.get_logger().warning(
                f'reference refused: {error}', throttle_duration_sec=_LOG_PERIOD_S
            )

    def _on_enable(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        try:
            self.calls.call(
                self._loop.enable if request.data else lambda: self._loop.disable('disabled')
            )
        except FciError as error:
            answer.success, answer.message = False, str(error)
            return answer
        answer.success, answer.message = True, self._loop.reason
        return answer


def _arm(parameters: dict[str, Any]) -> ArmDescription:
    description = load_arm(parameters)
    if description.n != 7:
        raise SettingsError(
            f'robot_type {description.name} has {description.n} joints; a robot '
            'that speaks FCI has 7.'
        )
    description.require_physical('commanding torques')
    return description


def _settings(values: dict[str, Any]) -> Settings:
    """Return the live settings; the target is the robot, which adds gravity and friction."""
    return settings_from({**values, 'target': 'fci', 'terms.friction': False})


def _gravity_changed(before: Settings, after: Settings) -> list[str]:
    """Return what changed by which other gravity torque would be commanded."""
    return [
        name
        for name in ('gravity_vector', 'payload', 'payload_known_to_robot')
        if getattr(before, name) != getattr(after, name)
    ]


def main(args: Sequence[str] | None = None) -> int:
    """Drive until SIGINT or SIGTERM; 1 if the robot refuses or is lost, 2 for a bad parameter."""
    return run_node(FciNode, FciNode.run, args, refusals=(FciError, CrosscheckError))


if __name__ == '__main__':
    sys.exit(main())
