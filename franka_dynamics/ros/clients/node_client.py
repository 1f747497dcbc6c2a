# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A client of a running node's parameters, lifecycle, faults and reference trajectories."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
import math
import shlex
from typing import Any
import uuid

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    SetParametersAtomically,
)
from rclpy.duration import Duration
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import yaml

from ..parameter_tables import no_such_parameter_sentence
from ..status import DiagnosticSubject, NodeStatus, StatusKey
from ..topic_listener import TopicListener
from ..topics import REFERENCE_QOS
from ...errors import FrankaDynamicsError, SettingsError, short_text
from ...motion.reference import ReferenceState

_STOP_DELIVERY_TIMEOUT_S = 5.0  # until the node has a request to stop
MAX_BRAKING_WAIT_S = 10.0  # of a node that brakes an arm before it answers
# Wait before a request or a trajectory [s]: a server that has not discovered the client discards
# the answer, and a subscriber that has not discovered the publisher receives nothing.
_CLIENT_DISCOVERY_WAIT_S = 0.5
_DIAGNOSTICS_QUEUE_DEPTH = 50  # of /diagnostics, which all nodes share
_STATUS_TIMEOUT_S = 2.0  # wait for the latest status [s]
# States of a reference that end it, as reports have them.
_FINISHED_STATE = ReferenceState.FINISHED.value
_FINAL_MOTION_STATES = (
    _FINISHED_STATE,
    ReferenceState.REFUSED.value,
    ReferenceState.INTERRUPTED.value,
)


class NodeClientError(FrankaDynamicsError):
    """
    A node does not answer or fails; a refused parameter is a SettingsError instead.

    `refusal_error_type` is the type of the error by which the node refused a motion.
    """

    status = 1
    refusal_error_type = ''


class _MotionReports:
    """
    The latest reports of a node on /diagnostics about one motion, and about any other motion.

    `state` is that of the motion, '' before a report on it, and `values` are those of that report.
    `other_state` is that of the latest other motion, 'finished' if there was none; it is None
    until the node is heard.
    """

    def __init__(self, node_name: str, motion_id: str) -> None:
        """Store the node's name and the motion's identifier; no report has come yet."""
        self._node_name = node_name.lstrip('/')
        self._motion_id = motion_id
        self.values: Mapping[str, str] = {}
        self.state = ''
        self.other_state: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the node has reported the motion's end."""
        return self.state in _FINAL_MOTION_STATES

    @property
    def is_node_heard(self) -> bool:
        """Whether the node has reported anything."""
        return self.other_state is not None

    @property
    def is_node_busy(self) -> bool:
        """Whether the node follows another motion."""
        return self.other_state not in _FINAL_MOTION_STATES

    def store_message(self, message: DiagnosticArray) -> None:
        """Store the statuses of the node's motions from a diagnostic message."""
        for status in map(NodeStatus.from_message, message.status):
            if status.node_name != self._node_name:
                continue
            self.other_state = self.other_state or _FINISHED_STATE
            if status.subject != DiagnosticSubject.REFERENCE:
                continue
            if status.values.get('frame_id') == self._motion_id:
                self.values = status.values
                self.state = status.values.get('state', '')
            else:
                self.other_state = status.values.get('state', '')


class NodeClient(TopicListener):
    """
    A client that calls a node's services and sends it trajectories; a context manager.

    A name without a leading slash is that of the only such node in any namespace.

    `timeout` is how long to wait for the node's services and topics to appear [s]. `on_wait` is
    called many times a second during waits; an exception that it raises ends the wait.
    """

    def __init__(
        self,
        name: str,
        timeout: float = 5.0,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the client; the node is looked up at the first use."""
        super().__init__('client', on_wait)
        self._timeout = timeout
        self._answer_timeout = timeout + MAX_BRAKING_WAIT_S
        self._given_name = name
        self._clients: dict[str, Any] = {}  # by service

    @cached_property
    def name(self) -> str:
        """The node's full name; the first use looks up a shorter one, at most for the time-out."""
        return self.find_node_name(self._given_name, self._timeout)

    def set_parameter(self, parameter_name: str, yaml_text: str) -> Any:
        """
        Set a parameter by the YAML text of its value; return the value.

        Integers are taken for floats, one number or several with commas for a list of floats, and
        any text for a string.

        Raises
        ------
        SettingsError
            If there is no such parameter, the text is no value, or the node refuses it.

        """
        service = 'describe_parameters'
        found = self.call_service(DescribeParameters, service, names=[parameter_name]).descriptors
        if len(found) != 1:
            raise SettingsError(f'{self.name}: {no_such_parameter_sentence([parameter_name])}')
        (descriptor,) = found
        if descriptor.read_only:
            given = shlex.quote(f'{parameter_name}:={yaml_text}')
            raise SettingsError(
                f'{parameter_name} is read when {self.name} starts, and then fixed: end the node, '
                f'and start it with -p {given} after --ros-args, or in a parameter file.'
            )
        try:
            value = _value_from_yaml(yaml_text, descriptor.type)
        except (yaml.YAMLError, OverflowError) as error:
            reason = ' '.join(str(error).split())
            raise SettingsError(f'{yaml_text[:80]!r} is no value: {reason[:120]}.') from error
        self.set_parameters({parameter_name: value})
        return value

    def parameter_values(self, names: Sequence[str]) -> list[Any]:
        """Return values of parameters, arrays as lists; raise SettingsError for unknown ones."""
        answer = self.call_service(GetParameters, 'get_parameters', names=list(names))
        # rclpy returns no values at all if one of the parameters does not exist.
        are_set = [value.type != ParameterType.PARAMETER_NOT_SET for value in answer.values]
        if len(answer.values) != len(names) or not all(are_set):
            unknown = [name for name in names if not self._has_parameter(name)]
            raise SettingsError(f'{self.name}: {no_such_parameter_sentence(unknown)}')
        values = map(parameter_value_to_python, answer.values)
        return [list(value) if isinstance(value, array) else value for value in values]

    def _has_parameter(self, name: str) -> bool:
        """Return whether the node has a parameter, and a value of it."""
        values = self.call_service(GetParameters, 'get_parameters', names=[name]).values
        return bool(values) and values[0].type != ParameterType.PARAMETER_NOT_SET

    def set_parameters(self, values: Mapping[str, Any]) -> None:
        """Set parameters, all or none; raise SettingsError if the node refuses one of them."""
        try:
            messages = [
                Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
            ]
            for value in values.values():
                if type(value) is int:
                    value.to_bytes(8, signed=True)  # raises OverflowError beyond 64 bits
        # Of a mapping, of a list of several types, and of 10^20.
        except (TypeError, OverflowError) as error:
            raise SettingsError(
                f'{short_text(str(dict(values)))}: a parameter is a value or a list of one type; '
                'integers have 64 bits.'
            ) from error
        service = 'set_parameters_atomically'
        answer = self.call_service(SetParametersAtomically, service, parameters=messages)
        if not answer.result.successful:
            raise SettingsError(f'{self.name} refused {", ".join(values)}: {answer.result.reason}')

    def lifecycle_state(self) -> str:
        """Return the label of the node's lifecycle state, such as active."""
        return str(self.call_service(GetState, 'get_state').current_state.label)

    def status_sentence(self) -> str:
        """Return the node's latest ~/status as text; '' if no status comes within 2 s."""
        self.wait_until(lambda: self.latest_status(self.name) is not None, _STATUS_TIMEOUT_S)
        status = self.latest_status(self.name)
        return '' if status is None else status.sentence

    def trigger_transition(self, transition: str) -> str:
        """Trigger a lifecycle transition; return the new state, or raise NodeClientError."""
        offered = self.call_service(GetAvailableTransitions, 'get_available_transitions')
        known = {
            description.transition.label: description.transition
            for description in offered.available_transitions
        }
        if transition not in known:
            raise NodeClientError(
                f'{self.name} is {self.lifecycle_state()}, where {transition} is not '
                f'possible; it takes {", ".join(sorted(known)) or "nothing"}.'
            )
        request = {'transition': known[transition]}
        if not self.call_service(ChangeState, 'change_state', **request).success:
            raise NodeClientError(f'{self.name} refused to {transition}; its log says why.')
        return self.lifecycle_state()

    def clear_fault(self) -> str:
        """Clear the node's fault; return its answer, or raise NodeClientError if it refuses."""
        answer = self.call_service(Trigger, 'clear_fault')
        if not answer.success:
            raise NodeClientError(f'{self.name}: {answer.message}')
        return str(answer.message)

    def follow_trajectory(self, message: JointTrajectory) -> str:
        """
        Send a trajectory, wait for the motion's end and return 'finished'.

        The trajectory message's frame id is set to an identifier that the node's reports on
        /diagnostics repeat. The node has `timeout` to appear; it gets the trajectory once, and its
        answer and then the motion's end are waited for as long as it is there. If an error or
        Ctrl-C ends the call before the motion's end, the node gets a request to stop, and brings
        the arm to rest.

        Raises
        ------
        NodeClientError
            If no node subscribes or reports, it follows another motion (which a message on
            ~/reference would replace), the motion is refused or interrupted, or the node has gone.

        """
        message.header.frame_id = str(uuid.uuid4())
        reports = _MotionReports(self.name, message.header.frame_id)
        subscription = self.node.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            reports.store_message,
            _DIAGNOSTICS_QUEUE_DEPTH,
        )
        topic = f'{self.name}/reference'
        publisher = self.node.create_publisher(JointTrajectory, topic, REFERENCE_QOS)
        self._wait_until_node_free(publisher, reports)
        try:
            publisher.publish(message)  # once: a second copy would interrupt the first
            self._wait_until_motion_end(reports)
        finally:
            if not reports.is_over:
                publisher.publish(JointTrajectory())  # without points: stop
                publisher.wait_for_all_acked(Duration(seconds=_STOP_DELIVERY_TIMEOUT_S))
            self.node.destroy_publisher(publisher)
            self.node.destroy_subscription(subscription)
        if reports.state != _FINISHED_STATE:
            reason = reports.values.get('reason', '')
            error = NodeClientError(f'the motion was {reports.state}: {reason}')
            error.refusal_error_type = reports.values.get(StatusKey.REFUSAL_ERROR_TYPE, '')
            raise error
        return reports.state

    def _wait_until_node_free(self, publisher: Any, reports: _MotionReports) -> None:
        """Wait for the node; raise NodeClientError if it is silent or follows another motion."""

        def is_there() -> bool:
            """Return whether the node subscribes to motions, and reports."""
            return publisher.get_subscription_count() > 0 and reports.is_node_heard

        if not self.wait_until(is_there, self._timeout):
            raise NodeClientError(
                f'nobody takes motions on {self.name}/reference and reports on /diagnostics; '
                f'nothing was sent. Is {self.name} running, and is it a feedforward node?'
            )
        self.poll_for(_CLIENT_DISCOVERY_WAIT_S)
        if reports.is_node_busy:
            raise NodeClientError(
                f'{self.name} follows another motion: let it end, or end it by Ctrl-C in the '
                '`node play` that sent it, before this one; nothing was sent.'
            )

    def _wait_until_motion_end(self, reports: _MotionReports) -> None:
        """Wait for the report of the motion's end; raise NodeClientError if none comes."""

        def is_answered() -> bool:
            """Return whether the node has reported the motion, or has gone."""
            return bool(reports.state) or self._is_node_gone()

        def is_over() -> bool:
            """Return whether the motion has ended, or the node has gone."""
            return reports.is_over or self._is_node_gone()

        if self.wait_until(is_answered, self._answer_timeout):
            self.wait_until(is_over, math.inf)  # however long the motion is
        if not reports.is_over:
            why = 'it has gone' if self._is_node_gone() else f'it was {reports.state or "silent"}'
            raise NodeClientError(f'{self.name} did not end the motion: {why}.')

    def call_service(self, service_type: Any, service_name: str, **request_fields: Any) -> Any:
        """
        Call a node's service with request fields, and return the response.

        Raises
        ------
        NodeClientError
            If no response comes.

        """
        known = self._clients.get(service_name)
        client = known or self.node.create_client(service_type, f'{self.name}/{service_name}')
        if not self.wait_until(client.service_is_ready, self._timeout):
            raise NodeClientError(
                f'{self.name} does not answer within {self._timeout:g} s; is it running, in '
                'this ROS_DOMAIN_ID? `franka-dynamics doctor` lists what is heard.'
            )
        if known is None:
            self.poll_for(_CLIENT_DISCOVERY_WAIT_S)
        # Once: a transition is not triggered twice.
        answer = client.call_async(service_type.Request(**request_fields))
        if not self.wait_until(answer.done, self._answer_timeout):
            late = f'did not answer within {self._answer_timeout:g} s'
            raise NodeClientError(f'{self.name} took {service_name} and {late}.')
        self._clients[service_name] = client  # discovered: the next request need not wait
        return answer.result()

    def _is_node_gone(self) -> bool:
        """Return whether nobody publishes the node's ~/status any more, as after its end."""
        return bool(self.node.count_publishers(f'{self.name}/status') == 0)


def _value_from_yaml(text: str, parameter_type: int) -> Any:
    """
    Return the value of a YAML text for a parameter of a type.

    Raises YAMLError if the text is no YAML, and OverflowError if a number is too large for a
    float.
    """
    value = yaml.safe_load(text)
    if parameter_type == ParameterType.PARAMETER_DOUBLE_ARRAY:
        if isinstance(value, str) and ',' in value:
            value = yaml.safe_load(f'[{text}]')  # numbers without brackets
        numbers = value if isinstance(value, list) else [value]
        return [_int_to_float(number) for number in numbers]
    if parameter_type == ParameterType.PARAMETER_DOUBLE:
        return _int_to_float(value)
    if parameter_type == ParameterType.PARAMETER_STRING and not isinstance(value, str):
        return text  # such as the frame 7, which YAML takes for a number
    return value


def _int_to_float(value: Any) -> Any:
    """Return an int as a float, and any other value unchanged."""
    return float(value) if type(value) is int else value
