# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the running system: joint states, their stamps, commands, and what nodes say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import time
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from .machine_checks import (
    CheckResult,
    GOOD,
    make_result,
    NOTE,
    SIMULATOR_SUBJECT,
    TO_DO,
)
from .. import COMMAND_TOPIC
from ..messages import FIRST_WALL_TIME_S, is_effort_measured, stamp_to_seconds
from ..receivers.receiver_kinds import DECLARATION_SERVICES
from ..status import NodeStatus
from ..topic_listener import TopicListener
from ..topics import publisher_names
from ...control.core_table import State
from ...control.settings import StateLimits

_CLEAR_FAULT_SERVICE = '/clear_fault'  # of feedforward nodes; other nodes may have one, too
JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
# Below it the feedforward node commands nothing by default.
_MIN_STATE_RATE_HZ = StateLimits.min_input_rate
_MAX_STAMP_AGE_S = 0.1
# Longest listening beyond `listen_s`: twice the period of statuses.
_FIRST_MESSAGE_TIMEOUT_S = 2.0
# A deep queue, so that a slow reader still counts every joint state.
_COUNTING_QOS = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
_LEVELS = {'OK': GOOD, 'WARN': NOTE}  # of checks by those of statuses; TO_DO of all others


@dataclass
class StatesSeen:
    """Arrival times and stamps of joint states [s], whether efforts were measured, and joints."""

    arrivals: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    has_effort: bool = False
    joint_groups: set[frozenset[str]] = field(default_factory=set)

    def add_state(self, message: JointState, arrival: float) -> None:
        """Add a joint state that arrived at the system time `arrival` [s]."""
        self.arrivals.append(arrival)
        self.stamps.append(stamp_to_seconds(message.header.stamp))
        self.has_effort |= is_effort_measured(message.effort)
        self.joint_groups.add(frozenset(message.name))

    @property
    def median_age(self) -> float:
        """Median age of the joint states' stamps at their arrival [s]; 0 if none has come."""
        return float(np.median(np.subtract(self.arrivals, self.stamps))) if self.stamps else 0.0


def _mean_rate_hz(times: list[float]) -> float:
    """Return the mean rate of events at `times` [Hz]; 0 for fewer than two, or no span."""
    span = times[-1] - times[0] if times else 0.0
    return (len(times) - 1) / span if span > 0.0 else 0.0


def system_checks(
    state_topic: str, command_topic: str | None, listen_s: float
) -> Iterator[CheckResult]:
    """
    Listen to joint states and to the nodes' ~/status, and yield the results of all checks.

    Topics may be named without their namespace; `command_topic` is None for those on which the
    running nodes publish. `listen_s` should exceed 1, because statuses come once per second.
    Listening lasts up to 2 s longer if a listed node or publisher of joint states is not heard.
    """
    with TopicListener('doctor') as listener:
        node = listener.node
        topic, states = _listen(listener, state_topic, listen_s)
        simulators = _simulated_arms(node)
        if simulators:
            text = f'{", ".join(simulators)}: what only a real arm requires is printed as a note'
            yield CheckResult(SIMULATOR_SUBJECT, GOOD, text)
        is_simulated = is_time_simulated(node, states, simulators)
        yield from joint_state_checks(node, topic, states, is_simulated=is_simulated)
        yield from stamp_checks(states, is_simulated=is_simulated)
        nodes = _feedforward_nodes(listener)
        for command in _command_topics(listener, nodes, command_topic):
            yield from command_checks(node, command)
        for name in simulators:
            yield from arm_checks(name, listener.latest_status(name))
        for name in nodes:
            yield from node_checks(name, listener.latest_status(name))
        if not nodes:
            yield CheckResult('node', NOTE, 'no feedforward node is heard')


def _listen(listener: TopicListener, state_topic: str, listen_s: float) -> tuple[str, StatesSeen]:
    """Return the full name of the topic of joint states, and what was heard there."""
    node = listener.node
    states = StatesSeen()
    began = time.monotonic()
    (topic,) = listener.find_topic_names([state_topic], listen_s)

    def record_state(message: JointState) -> None:
        """Store a joint state that has arrived."""
        states.add_state(message, 1e-9 * listener.arrival_ns)

    def is_heard() -> bool:
        """Return whether each node of this package, and a joint state if any, has come."""
        names = [*_feedforward_nodes(listener), *_simulated_arms(node)]
        statuses = [listener.latest_status(name) for name in names]
        return all(statuses) and bool(states.stamps or not node.count_publishers(topic))

    node.create_subscription(JointState, topic, record_state, _COUNTING_QOS)
    is_heard()  # subscribes to the statuses of the nodes that are discovered
    is_published = node.count_publishers(topic) > 0
    # If nothing is published there, the search for the topic was part of the listening.
    listening_end = time.monotonic() + listen_s if is_published else began + listen_s
    listener.poll_for(max(0.0, listening_end - time.monotonic()))
    listener.wait_until(is_heard, _FIRST_MESSAGE_TIMEOUT_S)
    return topic, states


def _command_topics(
    listener: TopicListener, nodes: Sequence[str], command_topic: str | None
) -> list[str]:
    """Return the full names of the topics of torques: the given one, or those of the nodes."""
    if command_topic is None:
        published = {listener.command_topic_of(name) for name in nodes} - {''}
        names = sorted(published) or [COMMAND_TOPIC]
    else:
        names = [command_topic]
    return listener.find_topic_names(names, 0.0)


def _nodes_with_service(node: Any, ending: str) -> list[str]:
    """Return the sorted full names of the nodes that offer a service of a name that ends so."""
    offered = [name for name, _ in node.get_service_names_and_types()]
    return sorted(name.removesuffix(ending) for name in offered if name.endswith(ending))


def _feedforward_nodes(listener: TopicListener) -> list[str]:
    """Return the sorted full names of the nodes that clear faults and publish torques."""
    names = _nodes_with_service(listener.node, _CLEAR_FAULT_SERVICE)
    return [name for name in names if listener.command_topic_of(name)]


def _simulated_arms(node: Any) -> list[str]:
    """Return the sorted full names of the simulated arms, which declare themselves."""
    endings = (service.removeprefix('~') for service in DECLARATION_SERVICES.values())
    return sorted(name for ending in endings for name in _nodes_with_service(node, ending))


def is_time_simulated(node: Any, states: StatesSeen, simulators: Sequence[str]) -> bool:
    """
    Return whether the arm's time is simulated, so that its stamps need not be those of the clock.

    That is so for a simulated arm of this package, and where somebody publishes /clock and no
    stamp is a time of day. A clock beside stamps of the day is that of somebody else's simulation.
    """
    if simulators:
        return True
    has_clock = bool(publisher_names(node, '/clock'))
    return has_clock and all(stamp < FIRST_WALL_TIME_S for stamp in states.stamps)


def joint_state_checks(
    node: Any, topic: str, states: StatesSeen, *, is_simulated: bool
) -> Iterator[CheckResult]:
    """Yield the results of checks of joint states' publishers, rate and measured efforts."""
    subject = 'joint states'
    publishers = publisher_names(node, topic)
    if not states.stamps:
        others = _other_state_topics(node, topic)
        fix = 'start the driver or the simulator, in this ROS_DOMAIN_ID'
        if others:
            fix = f'joint states are on {", ".join(others[:5])}: choose one with --topic'
        text = f'none came on {topic}, which has {len(publishers)} publishers; {fix}'
        yield CheckResult(subject, TO_DO, text)
        return
    senders = ', '.join(publishers) or 'a node that left'
    rate = _mean_rate_hz(states.arrivals)
    text = f'{rate:.0f} Hz on {topic} from {senders}'
    if is_simulated:
        rate = _mean_rate_hz(states.stamps)
        text += f', {rate:.0f} Hz of simulated time'
    fix = f'a command needs {_MIN_STATE_RATE_HZ:g} Hz, with franka_ros2 take franka/joint_states'
    yield make_result(subject, rate >= _MIN_STATE_RATE_HZ, text, fix, TO_DO)
    if len(publishers) > len(states.joint_groups):
        text = (
            f'{len(publishers)} nodes publish on one topic; leave one source of each joint, or '
            'give another arm a ROS_DOMAIN_ID of its own'
        )
        yield CheckResult(subject, TO_DO, text)
    text = 'effort is there' if states.has_effort else 'effort is missing, zero or NaN'
    fix = 'nothing to replay or identify from, and a weaker check of torques'
    yield make_result('measured torque', states.has_effort, text, fix)


def _other_state_topics(node: Any, state_topic: str) -> list[str]:
    """Return other published topics of joint states, the likeliest ones first."""
    topics = node.get_topic_names_and_types()
    # A feedforward node publishes its torques and matrices as JointState messages, too, on topics
    # below the node's name.
    own_nodes = {name.removesuffix('/gravity') for name, _ in topics if name.endswith('/gravity')}
    others = [
        name
        for name, types in topics
        if JOINT_STATE_TYPE in types
        and name != state_topic
        and name.rpartition('/')[0] not in own_nodes
        and node.count_publishers(name)
    ]
    return sorted(others, key=lambda name: (not name.endswith('/joint_states'), name))


def stamp_checks(states: StatesSeen, *, is_simulated: bool) -> Iterator[CheckResult]:
    """Yield the result of checking stamps by this machine's clock, unless no state has come."""
    age = states.median_age
    if not states.stamps:
        return
    if is_simulated:
        yield CheckResult('clock', GOOD, f'stamps are simulated time, {age:.3g} s off the clock')
        return
    text = f'stamps are {1e3 * age:.3g} ms old in the median'
    fix = 'synchronise the clocks (chrony); of a simulator without /clock set max_state_age to 0'
    yield make_result('clock', abs(age) <= _MAX_STAMP_AGE_S, text, fix, TO_DO)


def command_checks(node: Any, topic: str) -> Iterator[CheckResult]:
    """Yield the result of checking which nodes publish torques and how many receive them."""
    publishers = publisher_names(node, topic)
    listeners = node.count_subscribers(topic)
    names = ', '.join(publishers)
    if len(publishers) > 1:
        text = f'{names} all publish on {topic}; an arm takes torques from one'
        yield CheckResult('commands', TO_DO, text)
    elif publishers:
        level = GOOD if listeners else NOTE
        yield CheckResult('commands', level, f'{names} publishes on {topic}, {listeners} listen')
    else:
        yield CheckResult('commands', NOTE, f'nobody publishes on {topic}')


def arm_checks(name: str, status: NodeStatus | None) -> Iterator[CheckResult]:
    """Yield what a simulated arm says on its ~/status, if it was heard."""
    if status is not None:
        level = NOTE if status.level == 'STALE' else _LEVELS.get(status.level, TO_DO)
        yield CheckResult(SIMULATOR_SUBJECT, level, f'{name}: {status.sentence}')


def node_checks(name: str, status: NodeStatus | None) -> Iterator[CheckResult]:
    """Yield what a feedforward node says on its ~/status, which knows best what is wrong."""
    if status is None:
        text = (
            f'{name} runs, but publishes no status: it is not configured; its log says why, and '
            f'`franka-dynamics node state configure --node {name}` tries again'
        )
        yield CheckResult('node', TO_DO, text)
        return
    is_running = status.values.get('state') == State.RUNNING.value
    level = _LEVELS.get(status.level, TO_DO) if is_running else TO_DO
    yield CheckResult('node', level, f'{name}: {status.sentence}')
