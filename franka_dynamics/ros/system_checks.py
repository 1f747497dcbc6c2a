# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the running system's joint states, clock, commands and nodes' diagnostics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import math
import time
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from . import COMMAND_TOPIC
from .machine_checks import (
    CheckResult,
    GOOD,
    make_result,
    NOTE,
    SIMULATOR_SUBJECT,
    TO_DO,
)
from .messages import is_effort_measured, stamp_to_seconds
from .status import DiagnosticSubject, NodeSnapshot
from .topic_listener import TopicListener
from .topics import publisher_names
from ..constants import GRAVITY
from ..control.feedforward import State, StateLimits

_CLEAR_FAULT_SERVICE = '/clear_fault'  # a service that only feedforward nodes offer
_JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
# Below it the feedforward node commands nothing by default.
_MIN_STATE_RATE_HZ = StateLimits.min_input_rate
# Simulated time that runs slower stands still for all that a user wants; `sim` goes down to 0.05.
_MIN_REAL_TIME_FACTOR = 0.02
_MAX_STAMP_AGE_S = 0.1
# Longest listening beyond `listen_s`: two periods of diagnostics.
_FIRST_MESSAGE_TIMEOUT_S = 2.0
# Where the model leaves a larger force on the hand unexplained [N], `doctor` prints the mass that
# weighs as much. It is 3 standard deviations of the force that the torques of the large joints, at
# 0.5 m, show without contact.
_MIN_UNEXPLAINED_FORCE_N = 3.0
# A deep queue, so that a slow reader still counts every joint state.
_COUNTING_QOS = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass
class _StateTimes:
    """Arrival times and stamps of joint states [s], and whether one had measured efforts."""

    arrivals: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    has_effort: bool = False

    def add_state(self, message: JointState, arrival: float) -> None:
        """Add a joint state that arrived at the system time `arrival` [s]."""
        self.arrivals.append(arrival)
        self.stamps.append(stamp_to_seconds(message.header.stamp))
        self.has_effort |= is_effort_measured(message.effort)

    @property
    def median_age(self) -> float:
        """Median age of the joint states' stamps at their arrival [s]; 0 if none has come."""
        return float(np.median(np.subtract(self.arrivals, self.stamps))) if self.stamps else 0.0

    @property
    def are_stamps_off_clock(self) -> bool:
        """Whether the median stamp is over 0.1 s behind or ahead of this machine's clock."""
        return abs(self.median_age) > _MAX_STAMP_AGE_S


def _mean_rate_hz(times: list[float]) -> float:
    """Return the mean rate of events at `times` [Hz]; 0 for fewer than two, or no span."""
    span = times[-1] - times[0] if times else 0.0
    return (len(times) - 1) / span if span > 0.0 else 0.0


def system_checks(
    state_topic: str, command_topic: str | None, listen_s: float
) -> Iterator[CheckResult]:
    """
    Listen to joint states and diagnostics, and yield the results of all checks of the system.

    Topics may be named without their namespace; `command_topic` is None for those on which the
    running nodes publish. `listen_s` should exceed 1, because diagnostics come once per second.
    Listening lasts up to 2 s longer if stamps are off the clock, or if joint states have
    publishers but none has come.
    """
    states = _StateTimes()
    with TopicListener('doctor') as listener:
        node = listener.node
        listener.heard_nodes()
        began = time.monotonic()
        _, (topic,) = listener.find_full_names(listen_s, topics=(state_topic,))
        if not node.count_publishers(topic):  # it has listened for nodes meanwhile
            listen_s = max(0.0, began + listen_s - time.monotonic())

        def record_state(message: JointState) -> None:
            """Store the times of a joint state that has arrived."""
            states.add_state(message, 1e-9 * listener.arrival_ns)

        node.create_subscription(JointState, topic, record_state, _COUNTING_QOS)
        listener.poll_for(listen_s)

        def simulator_names() -> list[str]:
            """Return the sorted names of the simulated arms that have sent messages."""
            return sorted(one.name for one in listener.heard_nodes().values() if one.is_simulator)

        def can_stop_waiting() -> bool:
            """Return whether waiting for a first joint state or simulated arm can end."""
            # Stamps off the clock may be those of a simulated arm, whose diagnostics are late on a
            # busy machine. The first joint state of a listed publisher may still come.
            comes = states.are_stamps_off_clock if states.stamps else node.count_publishers(topic)
            return bool(simulator_names()) or not comes

        listener.wait_until(can_stop_waiting, _FIRST_MESSAGE_TIMEOUT_S)
        snapshots, simulator = list(listener.heard_nodes().values()), simulator_names()
        if simulator:
            text = f'{", ".join(simulator)}: what only a real arm requires is printed as a note'
            yield CheckResult(SIMULATOR_SUBJECT, GOOD, text)
        clock = publisher_names(node, '/clock')
        yield from _joint_state_checks(node, topic, states, simulator, clock)
        yield from _clock_checks(node, states, simulator)
        offered, ending = node.get_service_names_and_types(), _CLEAR_FAULT_SERVICE
        nodes = [name.removesuffix(ending) for name, _ in offered if name.endswith(ending)]
        own = filter(None, map(listener.command_topic_of, nodes))
        typed = sorted(set(own)) if command_topic is None else [command_topic]
        _, commands = listener.find_full_names(0.0, topics=typed or [COMMAND_TOPIC])
        for command in commands:
            yield from _command_checks(node, command)
        yield from _node_checks(snapshots, nodes)
        for snapshot in snapshots:
            yield from _disturbance_checks(snapshot)


def _joint_state_checks(
    node: Any,
    topic: str,
    states: _StateTimes,
    simulators: list[str],
    clocks: Sequence[str] = (),
) -> Iterator[CheckResult]:
    """Yield the results of checks of joint states' publishers, rate and measured efforts."""
    subject, publishers = 'joint states', publisher_names(node, topic)
    if not states.stamps:
        others = _other_state_topics(node, topic)
        hint = 'start the driver or the simulator, in this ROS_DOMAIN_ID'
        if others:
            hint = f'joint states are on {", ".join(others[:5])}: choose one with --topic'
        text = f'none came on {topic}, which has {len(publishers)} publishers; {hint}'
        yield CheckResult(subject, TO_DO, text)
        return
    who = ', '.join(publishers) or 'a node that left'
    rate = _mean_rate_hz(states.arrivals)
    text = f'{rate:.0f} Hz on {topic} from {who}'
    if simulators or clocks:
        rate = _mean_rate_hz(states.stamps)
        text += f', {rate:.0f} Hz of simulated time'
    fix = f'a command needs {_MIN_STATE_RATE_HZ:g} Hz, with franka_ros2 take franka/joint_states'
    yield make_result(subject, rate >= _MIN_STATE_RATE_HZ, text, fix, TO_DO)
    if len(publishers) > 1:
        way = 'stop all but the driver'
        if simulators:
            way = 'end all but one simulated arm, or give another a ROS_DOMAIN_ID of its own'
        yield CheckResult(subject, TO_DO, f'{len(publishers)} nodes publish on one topic; {way}')
    text = 'effort is there' if states.has_effort else 'effort is missing, zero or NaN'
    fix = 'nothing to replay or identify from, and a weaker check of torques'
    yield make_result('measured torque', states.has_effort, text, fix)


def _other_state_topics(node: Any, state_topic: str) -> list[str]:
    """Return other published topics of joint states, the likeliest ones first."""
    topics = node.get_topic_names_and_types()
    # A feedforward node publishes its torques and matrices as JointState messages, too, on topics
    # below the node's name.
    own = {name.removesuffix('/gravity') for name, _ in topics if name.endswith('/gravity')}
    found = [name for name, kinds in topics if _JOINT_STATE_TYPE in kinds and name != state_topic]
    found = [name for name in found if name.rpartition('/')[0] not in own]
    others = filter(node.count_publishers, found)
    return sorted(others, key=lambda name: (not name.endswith('/joint_states'), name))


def _clock_checks(node: Any, states: _StateTimes, simulators: list[str]) -> Iterator[CheckResult]:
    """Yield at most one result, on whether stamps and clocks advance and agree."""
    clock, age = publisher_names(node, '/clock'), states.median_age
    stamped = _mean_rate_hz(states.stamps)  # 0 if they stand still
    speed = _mean_rate_hz(states.arrivals) / stamped if stamped else 0.0  # of simulated time
    if states.stamps and (clock or simulators) and speed < _MIN_REAL_TIME_FACTOR:
        text = f'simulated time of {", ".join(clock or simulators)} runs at {speed:.2f} of '
        fix = 'resume the simulation, or leave it more processor time'
        yield CheckResult('clock', TO_DO, f'{text}real time: {fix}')
    elif len(clock) > 1:
        text = f'{", ".join(clock)} all publish /clock, which goes to and fro: stop all but one'
        yield CheckResult('clock', TO_DO, text)
    elif clock:
        text = f'/clock comes from {clock[0]}: nodes need use_sim_time true'
        yield CheckResult('clock', NOTE, text)
    elif states.stamps and simulators:
        text = f'stamps are simulated time of {", ".join(simulators)}, which runs at '
        text += f'{speed:.2f} of real time: {age:.2f} s behind the clock by now'
        yield CheckResult('clock', GOOD, text)
    elif states.are_stamps_off_clock:
        fix = 'or set max_state_age to 0 for a simulation that counts from zero'
        text = f"stamps are {age:.3g} s off this machine's clock; synchronise the clocks (chrony)"
        yield CheckResult('clock', TO_DO, f'{text}, {fix}')
    elif states.stamps:
        yield CheckResult('clock', GOOD, f'stamps are {1e3 * age:.1f} ms old in the median')


def _command_checks(node: Any, topic: str) -> Iterator[CheckResult]:
    """Yield the result of checking which nodes publish torques and how many receive them."""
    publishers, listeners = publisher_names(node, topic), node.count_subscribers(topic)
    names = ', '.join(publishers)
    if len(publishers) > 1:
        text = f'{names} all publish on {topic}; an arm takes torques from one'
        yield CheckResult('commands', TO_DO, text)
    elif publishers:
        level = GOOD if listeners else NOTE
        yield CheckResult('commands', level, f'{names} publishes on {topic}, {listeners} listen')
    else:
        yield CheckResult('commands', NOTE, f'nobody publishes on {topic}')


def _disturbance_checks(node: NodeSnapshot) -> Iterator[CheckResult]:
    """Yield a note if a node's external force is large, with the mass of the same weight."""
    keys = (f'f{axis} [N]' for axis in 'xyz')
    force = math.hypot(*(node.value_of(DiagnosticSubject.EXTERNAL_WRENCH, key) for key in keys))
    if force > _MIN_UNEXPLAINED_FORCE_N:  # false for NaN
        text = f'{node.name}: {force:.1f} N at its frame are unexplained, at rest the weight of '
        fix = 'if nothing touches the arm, correct hand and payload'
        yield CheckResult('disturbance', NOTE, f'{text}{force / -GRAVITY[2]:.2f} kg: {fix}')


def _node_checks(seen: list[NodeSnapshot], running: Sequence[str] = ()) -> Iterator[CheckResult]:
    """Yield results on feedforward nodes, heard or not, and on all nodes' other bad statuses."""
    levels = {'OK': GOOD, 'WARN': NOTE}
    commanding = [node for node in seen if node.is_feedforward_node]
    silent = sorted({name.strip('/') for name in running} - {node.name for node in commanding})
    for name in silent:
        text = f'{name} runs, but publishes no diagnostics: it is not configured; its log says why'
        way = 'and `franka-dynamics node state configure` tries again'
        yield CheckResult('node', TO_DO, f'{text}, {way}')
    if not commanding and not silent:
        yield CheckResult('node', NOTE, 'no feedforward node is heard')
    for status in (snapshot.statuses[DiagnosticSubject.COMMAND] for snapshot in commanding):
        sends = status.values.get('state') == State.RUNNING.value
        level = levels.get(status.level, TO_DO) if sends else TO_DO
        yield CheckResult('node', level, f'{status.node_name}: {status.sentence}')
    for status in (status for snapshot in seen for status in snapshot.statuses.values()):
        if status.level not in levels and status.subject != DiagnosticSubject.COMMAND:
            yield CheckResult('diagnostics', TO_DO, f'{status.name}: {status.message}')
