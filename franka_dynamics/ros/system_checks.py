# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the running nodes: joint states, clock, commands and diagnostics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
import math
from operator import sub
import statistics
import time
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from .joint_state_messages import is_measured
from .machine_checks import Check, GOOD, judged, NOTE, SIMULATED_ARM_CHECK, TO_DO
from .messages import seconds
from .status import DiagnosticSubject, NodeSnapshot
from .topic_listener import TopicListener
from .topics import publisher_names
from ..control.feedforward import State, StateLimits
from ..names import GRAVITY

_CLEAR = '/clear_fault'  # a service that only feedforward nodes offer
_JOINT_STATE = 'sensor_msgs/msg/JointState'
# Below it the feedforward node commands nothing by default.
_MIN_RATE_HZ = StateLimits.min_input_rate
# Simulated time that runs slower stands still for all that a user wants; `sim` goes down to 0.05.
_MIN_REAL_TIME_FACTOR = 0.02
_MAX_STAMP_AGE_S = 0.1
# Longest listening beyond `listen_s`: two periods of diagnostics.
_DISCOVERY_TIMEOUT_S = 2.0
# At rest, an unexplained force on the hand above which its mass is told: 3 standard deviations
# without contact of the large joints at 0.5 m [N].
_MIN_FORCE_N = 3.0
# A deep queue, so that a slow reader still counts every joint state.
_COUNTING = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass
class _StateTimes:
    """Joint states' arrivals by this machine's clock, their stamps [s]; whether efforts came."""

    arrivals: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    effort: bool = False

    def take(self, message: JointState, arrival: float) -> None:
        """Add a joint state and its arrival [s]."""
        self.arrivals.append(arrival)
        self.stamps.append(seconds(message.header.stamp))
        self.effort |= is_measured(message.effort)

    @property
    def age(self) -> float:
        """Median age of the joint states' stamps when they came [s]."""
        return statistics.median(map(sub, self.arrivals, self.stamps)) if self.stamps else 0.0

    @property
    def stamps_off_clock(self) -> bool:
        """Whether the median stamp is over 0.1 s behind or ahead of this machine's clock."""
        return abs(self.age) > _MAX_STAMP_AGE_S


def _rate(times: list[float]) -> float:
    """Return the mean rate of times [Hz]; 0 for fewer than two or equal ones."""
    span = times[-1] - times[0] if times else 0.0
    return (len(times) - 1) / span if span > 0.0 else 0.0


def system_checks(state_topic: str, command_topic: str, listen_s: float) -> Iterator[Check]:
    """
    Listen to joint states and diagnostics, and yield the results of all checks.

    Topics may be named without their namespace. `listen_s` should exceed 1,
    because diagnostics come once per second. Listening lasts up to 2 s longer if stamps are off
    the clock, or if joint states have publishers but none has come.
    """
    states = _StateTimes()
    with TopicListener('doctor') as listener:
        node = listener.node
        listener.heard_nodes()
        began = time.monotonic()
        _, (topic,) = listener.find(listen_s, topics=(state_topic,))
        if not node.count_publishers(topic):  # it has listened for nodes meanwhile
            listen_s = max(0.0, began + listen_s - time.monotonic())

        def take(message: JointState) -> None:
            states.take(message, 1e-9 * listener.arrival)

        node.create_subscription(JointState, topic, take, _COUNTING)
        listener.wait(listen_s)

        def simulators() -> list[str]:
            return sorted(one.name for one in listener.heard_nodes().values() if one.is_simulator)

        def settled() -> bool:
            """Return whether no joint state or simulated arm is still expected to be heard."""
            # Stamps off the clock may be those of a simulated arm, whose diagnostics are late on a
            # busy machine. The first joint state of a listed publisher may still come.
            comes = states.stamps_off_clock or (not states.stamps and node.count_publishers(topic))
            return bool(simulators()) or not comes

        listener.until(settled, _DISCOVERY_TIMEOUT_S)
        _, (command,) = listener.find(0.0, topics=(command_topic,))
        views, simulator = list(listener.heard_nodes().values()), simulators()
        if simulator:
            text = f'{", ".join(simulator)}: what only a real arm requires is printed as a note'
            yield Check(SIMULATED_ARM_CHECK, GOOD, text)
        clock = publisher_names(node, '/clock')
        yield from _joint_state_checks(node, topic, states, simulator, clock)
        yield from _clock_checks(node, states, simulator)
        yield from _command_checks(node, command)
        offered = [name for name, _ in node.get_service_names_and_types()]
        nodes = [name.removesuffix(_CLEAR) for name in offered if name.endswith(_CLEAR)]
        yield from _node_checks(views, nodes)
        for view in views:
            yield from _disturbance_checks(view)


def _joint_state_checks(
    node: Any, topic: str, states: _StateTimes, simulator: list[str], clock: Sequence[str] = ()
) -> Iterator[Check]:
    """Yield checks of joint states: publishers, rate and measured effort."""
    subject, publishers = 'joint states', publisher_names(node, topic)
    if not states.stamps:
        others = _other_topics(node, topic)
        hint = 'start the driver or the simulator, in this ROS_DOMAIN_ID'
        if others:
            hint = f'joint states are on {", ".join(others[:5])}: choose one with --topic'
        text = f'none came on {topic}, which has {len(publishers)} publishers; {hint}'
        yield Check(subject, TO_DO, text)
        return
    who = ', '.join(publishers) or 'a node that left'
    rate = _rate(states.arrivals)
    text = f'{rate:.0f} Hz on {topic} from {who}'
    if simulator or clock:
        rate = _rate(states.stamps)
        text += f', {rate:.0f} Hz of simulated time'
    fix = f'a command needs {_MIN_RATE_HZ:g} Hz, with franka_ros2 take franka/joint_states'
    yield judged(subject, rate >= _MIN_RATE_HZ, text, fix, TO_DO)
    if len(publishers) > 1:
        way = 'stop all but the driver'
        if simulator:
            way = 'end all but one simulated arm, or give another a ROS_DOMAIN_ID of its own'
        yield Check(subject, TO_DO, f'{len(publishers)} nodes publish on one topic; {way}')
    text = 'effort is there' if states.effort else 'effort is missing, zero or NaN'
    fix = 'nothing to replay or identify from, and a weaker guard'
    yield judged('measured torque', states.effort, text, fix)


def _other_topics(node: Any, topic: str) -> list[str]:
    """Return other topics of joint states that somebody publishes, the likeliest first."""
    topics = node.get_topic_names_and_types()
    # A feedforward node publishes its torques and matrices as JointState messages, too, on topics
    # below the node's name.
    own = {name.removesuffix('/gravity') for name, _ in topics if name.endswith('/gravity')}
    found = [
        name
        for name, kinds in topics
        if _JOINT_STATE in kinds and name != topic and node.count_publishers(name)
    ]
    found = [name for name in found if name.rpartition('/')[0] not in own]
    return sorted(found, key=lambda name: (not name.endswith('/joint_states'), name))


def _clock_checks(node: Any, states: _StateTimes, simulator: list[str]) -> Iterator[Check]:
    """Yield checks of stamps and clocks: whether they go on, and agree with this machine's."""
    clock, age = publisher_names(node, '/clock'), states.age
    stamped = _rate(states.stamps)  # 0 if they stand still
    speed = _rate(states.arrivals) / stamped if stamped else 0.0  # of simulated time
    if states.stamps and (clock or simulator) and speed < _MIN_REAL_TIME_FACTOR:
        text = f'simulated time of {", ".join(clock or simulator)} runs at {speed:.2f} of '
        fix = 'resume the simulation, or leave it more processor time'
        yield Check('clock', TO_DO, f'{text}real time: {fix}')
    elif len(clock) > 1:
        text = f'{", ".join(clock)} all publish /clock, which goes to and fro: stop all but one'
        yield Check('clock', TO_DO, text)
    elif clock:
        text = f'/clock comes from {clock[0]}: nodes need use_sim_time true'
        yield Check('clock', NOTE, text)
    elif states.stamps and simulator:
        text = f'stamps are simulated time of {", ".join(simulator)}, which runs at '
        text += f'{speed:.2f} of real time: {age:.2f} s behind the clock by now'
        yield Check('clock', GOOD, text)
    elif states.stamps_off_clock:
        fix = 'or set max_state_age to 0 for a simulation that counts from zero'
        text = f"stamps are {age:.3g} s off this machine's clock; synchronise the clocks (chrony)"
        yield Check('clock', TO_DO, f'{text}, {fix}')
    elif states.stamps:
        yield Check('clock', GOOD, f'stamps are {1e3 * age:.1f} ms old in the median')


def _command_checks(node: Any, command: str) -> Iterator[Check]:
    """Yield a check of who publishes torques and how many receive them."""
    publishers, listeners = publisher_names(node, command), node.count_subscribers(command)
    names = ', '.join(publishers)
    if len(publishers) > 1:
        text = f'{names} all publish on {command}; an arm takes torques from one'
        yield Check('commands', TO_DO, text)
    elif publishers:
        level = GOOD if listeners else NOTE
        yield Check('commands', level, f'{names} publishes on {command}, {listeners} listen')
    else:
        yield Check('commands', NOTE, f'nobody publishes on {command}')


def _disturbance_checks(view: NodeSnapshot) -> Iterator[Check]:
    """Yield a check if a node finds a large force unexplained, with the mass of that weight."""
    parts = [view.number(DiagnosticSubject.EXTERNAL_WRENCH, f'f{axis} [N]') for axis in 'xyz']
    force = math.hypot(*parts)
    if force > _MIN_FORCE_N:  # false for NaN
        text = f'{view.name}: {force:.1f} N at its frame are unexplained, at rest the weight of '
        fix = 'if nothing touches the arm, correct hand and payload'
        yield Check('disturbance', NOTE, f'{text}{force / -GRAVITY[2]:.2f} kg: {fix}')


def _node_checks(views: Sequence[NodeSnapshot], present: Sequence[str] = ()) -> Iterator[Check]:
    """Yield checks of the feedforward nodes that are heard, or run without diagnostics."""
    levels = {'OK': GOOD, 'WARN': NOTE}
    commanding = [one for one in views if one.is_feedforward_node]
    silent = sorted({name.strip('/') for name in present} - {one.name for one in commanding})
    for name in silent:
        text = f'{name} runs, but publishes no diagnostics: it is not configured; its log says why'
        way = 'and `franka-dynamics node state configure` tries again'
        yield Check('node', TO_DO, f'{text}, {way}')
    if not commanding and not silent:
        yield Check('node', NOTE, 'no feedforward node is heard')
    for one in (view.statuses[DiagnosticSubject.COMMAND] for view in commanding):
        sends = one.values.get('state') == State.RUNNING.value
        level = levels.get(one.level, TO_DO) if sends else TO_DO
        yield Check('node', level, f'{one.node}: {one.sentence}')
    for one in (status for view in views for status in view.statuses.values()):
        if one.level not in levels and one.subject != DiagnosticSubject.COMMAND:
            yield Check('diagnostics', TO_DO, f'{one.name}: {one.message}')
