# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A running node's parameters, lifecycle and reference, for machines without `ros2`."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any
import uuid

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter, parameter_value_to_python
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

from .node_process import guest_node
from .qos import REFERENCE_QOS, REFERENCE_STATE_QOS
from ..errors import FrankaDynamicsError

_NOT_FOLLOWED = ('refused', 'interrupted')
_ENDED = ('finished', *_NOT_FOLLOWED)
_PATIENCE_S, _ATTEMPT_S, _ATTEMPTS = 20.0, 4.0, 3
# A server that has not found a new client yet throws its answer away.
_DISCOVERY_S = 0.3


class NodeClientError(FrankaDynamicsError):
    """A node does not answer, or refuses what it was asked."""


class NodeClient:
    """
    Asks one node; use as a context manager.

    Parameters
    ----------
    name : str
        The node, such as feedforward or /left/feedforward.

    """

    def __init__(self, name: str) -> None:
        self._name = f'/{name.strip("/")}'
        self._guest = guest_node('client')
        self._node, self._executor = self._guest.__enter__()

    def __enter__(self) -> NodeClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._guest.__exit__(None, None, None)

    def get(self, parameter: str) -> Any:
        """Return a parameter's value."""
        answer = self._ask(
            GetParameters, 'get_parameters', GetParameters.Request(names=[parameter])
        )
        if not answer.values or answer.values[0].type == 0:
            raise NodeClientError(
                f'{self._name} has no parameter {parameter!r}; '
                '`franka-dynamics node defaults` prints all of them.'
            )
        return parameter_value_to_python(answer.values[0])

    def set(self, parameter: str, text: str) -> Any:
        """Set a parameter to what YAML reads from a text; return the value."""
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise NodeClientError(
                f'{text[:80]!r} is no value: {" ".join(str(error).split())[:120]}.'
            ) from error
        before = self.get(parameter)
        # Somebody who types 1 for a number means 1.0.
        if isinstance(before, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if isinstance(value, list) and any(isinstance(part, float) for part in [*value, *before]):
            value = [float(part) for part in value]
        try:
            message = Parameter(parameter, value=value).to_parameter_msg()
        except (TypeError, ValueError, AssertionError) as error:
            raise NodeClientError(f'{text[:80]!r} cannot be the value of {parameter}.') from error
        result = self._ask(
            SetParametersAtomically,
            'set_parameters_atomically',
            SetParametersAtomically.Request(parameters=[message]),
        ).result
        if not result.successful:
            raise NodeClientError(f'{self._name} refused {parameter}: {result.reason}')
        return value

    def state(self) -> str:
        """Return the lifecycle state."""
        label: str = self._ask(GetState, 'get_state', GetState.Request()).current_state.label
        return label

    def change_state(self, transition: str) -> str:
        """Ask for a transition by its name; return the state that it led to."""
        offered = self._ask(
            GetAvailableTransitions, 'get_available_transitions', GetAvailableTransitions.Request()
        ).available_transitions
        known = {one.transition.label: one.transition.id for one in offered}
        if transition not in known:
            raise NodeClientError(
                f'{self._name} is {self.state()}, where {transition} is not '
                f'possible; it takes {", ".join(sorted(known)) or "nothing"}.'
            )
        request = ChangeState.Request()
        request.transition.id = known[transition]
        if not self._ask(ChangeState, 'change_state', request).success:
            raise NodeClientError(f'{self._name} refused to {transition}; its log says why.')
        return self.state()

    def play(self, message: JointTrajectory, patience: float) -> str:
        """
        Send a reference trajectory, wait until it has ended, and return how.

        The message's frame id is set to a mark that the node's reports repeat.

        Raises
        ------
        NodeClientError
            If nobody listens, the motion is refused or interrupted, or does not end within
            `patience` [s].

        """
        said: dict[str, str] = {}
        # Reports of motions before this one come too, and of others' beside it.
        mark = message.header.frame_id = str(uuid.uuid4())

        def on_state(report: DiagnosticArray) -> None:
            for entry in report.status:
                pairs = {pair.key: pair.value for pair in entry.values}
                if pairs.get('frame_id') == mark:
                    said.update(pairs)

        self._node.create_subscription(
            DiagnosticArray, f'{self._name}/reference_state', on_state, REFERENCE_STATE_QOS
        )
        topic = f'{self._name}/reference'
        publisher = self._node.create_publisher(JointTrajectory, topic, REFERENCE_QOS)
        if not self._until(lambda: publisher.get_subscription_count() > 0, _PATIENCE_S):
            raise NodeClientError(f'nobody listens to {topic}; is the node running, and active?')
        self._until(lambda: False, _DISCOVERY_S)
        for _ in range(_ATTEMPTS):
            # A listener that has not found this publisher yet hears nothing of it.
            publisher.publish(message)
            if self._until(lambda: bool(said), _ATTEMPT_S):
                break
        if not self._until(lambda: said.get('state') in _ENDED, patience):
            raise NodeClientError(
                f'{self._name} did not end the motion within {patience:g} s; '
                f'it was last {said.get("state", "not heard")}.'
            )
        if said['state'] in _NOT_FOLLOWED:
            raise NodeClientError(f'the motion was {said["state"]}: {said.get("reason", "")}')
        return said['state']

    def _ask(self, kind: Any, service: str, request: Any) -> Any:
        client = self._node.create_client(kind, f'{self._name}/{service}')
        try:
            if not self._until(client.service_is_ready, _PATIENCE_S):
                raise NodeClientError(
                    f'{self._name} does not answer within {_PATIENCE_S:g} s; is it running, in '
                    'this ROS_DOMAIN_ID? `franka-dynamics node monitor` lists what is heard.'
                )
            self._until(lambda: False, _DISCOVERY_S)
            for _ in range(_ATTEMPTS):
                future = client.call_async(request)
                if self._until(future.done, _ATTEMPT_S):
                    return future.result()
                client.remove_pending_request(future)
            raise NodeClientError(f'{self._name} has {service} but gives no answer.')
        finally:
            self._node.destroy_client(client)

    def _until(self, done: Callable[[], bool], seconds: float) -> bool:
        give_up = time.monotonic() + seconds
        while not done():
            self._executor.spin_once(timeout_sec=0.02)
            if time.monotonic() > give_up:
                return False
        return True


def read_trajectory(text: str, source: str) -> JointTrajectory:
    """
    Return the message that YAML such as `excite` writes stands for.

    Raises
    ------
    NodeClientError
        If the text is no trajectory.

    """
    try:
        content = yaml.safe_load(text)
        points = [
            JointTrajectoryPoint(
                positions=[float(x) for x in point['positions']],
                velocities=[float(x) for x in point.get('velocities', [])],
                accelerations=[float(x) for x in point.get('accelerations', [])],
                time_from_start=Duration(**point['time_from_start']),
            )
            for point in content['points']
        ]
        return JointTrajectory(joint_names=list(content['joint_names']), points=points)
    except (
        yaml.YAMLError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        AssertionError,
    ) as error:
        raise NodeClientError(
            f'{source} is no trajectory as `franka-dynamics identify plan` writes it: '
            f'{" ".join(str(error).split())[:120]}.'
        ) from error
