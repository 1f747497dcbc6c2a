# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a running system: joint states, clock, commands, guard and diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from .messages import is_measured, publisher_names, seconds, SIMULATED_ARM
from .observer import Observer, read_statuses, Status

GOOD, NOTE, BAD = 'good', 'note', 'to do'
SIMULATED = 'simulated arm'
Line = tuple[str, str, str]  # subject, level, sentence

_JOINT_STATE = 'sensor_msgs/msg/JointState'
_LEAST_RATE_HZ = 200.0  # default min_input_rate: below it the feedforward node commands nothing
_OLD_S = 0.1
_PATIENCE_S, _LOOK_S = 10.0, 0.05
# A deep queue, so that a slow reader still counts every joint state.
_COUNTING = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass
class _Heard:
    """Arrivals, ages and stamps [s] of a topic's joint states; whether effort was measured."""

    count: int = 0
    first: float = 0.0
    last: float = 0.0
    ages: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    effort: bool = False

    def take(self, message: JointState) -> None:
        now = time.monotonic()
        self.first = self.first or now
        self.last, self.count = now, self.count + 1
        stamp = seconds(message.header.stamp)
        self.ages.append(time.time() - stamp)
        self.stamps.append(stamp)
        self.effort |= is_measured(message.effort)

    @property
    def rate(self) -> float:
        return (self.count - 1) / (self.last - self.first) if self.last > self.first else 0.0

    @property
    def age(self) -> float:
        """Median age of the joint states' stamps by this machine's clock [s]."""
        return sorted(self.ages)[len(self.ages) // 2] if self.ages else 0.0

    @property
    def off_the_clock(self) -> bool:
        """Whether the median stamp is over 0.1 s behind or ahead of this machine's clock."""
        return abs(self.age) > _OLD_S

    @property
    def stamped_rate(self) -> float:
        """Rate of joint states by their stamps [Hz]; with a simulated arm, by simulated time."""
        span = self.stamps[-1] - self.stamps[0] if self.stamps else 0.0
        return (self.count - 1) / span if span > 0.0 else 0.0


def system_checks(topic: str, command: str, listen: float) -> Iterator[Line]:
    """
    Listen to joint states and diagnostics, and yield the lines of all checks.

    `topic` and `command` may be named without their namespace. `listen` [s] should exceed 1,
    because diagnostics come once per second. Listening lasts up to 10 s longer if stamps are off
    the clock, or if joint states have publishers but none has come.
    """
    heard = _Heard()
    statuses: dict[str, Status] = {}

    def on_diagnostics(message: DiagnosticArray) -> None:
        statuses.update({status.name: status for status in read_statuses(message)})

    with Observer('doctor') as observer:
        node = observer.node
        _, (topic, command) = observer.find(listen, topics=(topic, command))
        observer.subscribe(JointState, topic, heard.take, _COUNTING)
        observer.subscribe(DiagnosticArray, '/diagnostics', on_diagnostics, 50)
        observer.wait(listen)
        end = time.monotonic() + _PATIENCE_S
        # Stamps off the clock may be those of a simulated arm, whose diagnostics are late on a
        # busy machine. The first joint state of a listed publisher may still come.
        while (
            (heard.off_the_clock or (not heard.count and node.count_publishers(topic)))
            and not simulators(statuses)
            and time.monotonic() < end
        ):
            observer.wait(_LOOK_S)
        simulator = simulators(statuses)
        if simulator:
            names = ', '.join(simulator)
            yield SIMULATED, GOOD, f'{names}: what only a real arm requires is printed as a note'
        yield from _joint_states(node, topic, heard, simulator)
        yield from _clock(node, heard, simulator)
        yield from _commands(node, command)
        yield from _nodes(statuses)


def simulators(statuses: dict[str, Status]) -> list[str]:
    """Return the names of this package's simulated arms that publish diagnostics."""
    return sorted(one.node for one in statuses.values() if one.subject == SIMULATED_ARM)


def _joint_states(node: Any, topic: str, heard: _Heard, simulator: list[str]) -> Iterator[Line]:
    publishers = publisher_names(node, topic)
    if not heard.count:
        topics = node.get_topic_names_and_types()
        # A feedforward node publishes its torques and matrices as JointState messages, too, on
        # topics below the node's name.
        own = {name.removesuffix('/gravity') for name, _ in topics if name.endswith('/gravity')}
        others = [
            name
            for name, kinds in topics
            if _JOINT_STATE in kinds
            and name != topic
            and node.count_publishers(name)
            and name.rpartition('/')[0] not in own
        ]
        others.sort(key=lambda name: (not name.endswith('/joint_states'), name))
        hint = (
            f'; joint states are on {", ".join(others[:5])}: choose one with --topic'
            if others
            else '; start the driver or the simulator, in this ROS_DOMAIN_ID'
        )
        yield (
            'joint states',
            BAD,
            f'none came on {topic}, which has {len(publishers)} publishers{hint}',
        )
        return
    who = f'{heard.rate:.0f} Hz on {topic} from {", ".join(publishers) or "a node that left"}'
    rate = heard.rate
    if simulator:
        rate = heard.stamped_rate
        who += f', {rate:.0f} Hz of simulated time'
    if rate < _LEAST_RATE_HZ:
        who += (
            f'; a command needs {_LEAST_RATE_HZ:g} Hz: with franka_ros2 take franka/joint_states'
        )
    yield 'joint states', BAD if rate < _LEAST_RATE_HZ else GOOD, who
    if len(publishers) > 1:
        yield (
            'joint states',
            BAD,
            f'{len(publishers)} nodes publish on one topic; '
            + (
                'end all but one simulated arm, or give another a ROS_DOMAIN_ID of its own'
                if simulator
                else 'stop all but the driver'
            ),
        )
    yield (
        'measured torque',
        GOOD if heard.effort else NOTE,
        'effort is there'
        if heard.effort
        else 'effort is missing, zero or NaN: nothing to replay or identify from, '
        'and a weaker guard',
    )


def _clock(node: Any, heard: _Heard, simulator: list[str]) -> Iterator[Line]:
    simulated = publisher_names(node, '/clock')
    if simulated:
        yield (
            'clock',
            NOTE,
            f'/clock comes from {", ".join(simulated)}: nodes need use_sim_time true',
        )
    if not heard.ages or simulated:
        return
    if simulator:
        speed = heard.rate / heard.stamped_rate if heard.stamped_rate else 0.0
        yield (
            'clock',
            GOOD,
            f'stamps are simulated time of {", ".join(simulator)}, which runs at {speed:.2f} of '
            f'real time: {heard.age:.2f} s behind the clock by now',
        )
    elif not heard.off_the_clock:
        yield 'clock', GOOD, f'stamps are {1e3 * heard.age:.1f} ms old in the median'
    else:
        yield (
            'clock',
            BAD,
            f"stamps are {heard.age:.3g} s off this machine's clock; synchronise the "
            'clocks (chrony), or set max_state_age to 0 for a simulation that counts from zero',
        )


def _commands(node: Any, command: str) -> Iterator[Line]:
    publishers, listeners = publisher_names(node, command), node.count_subscribers(command)
    if len(publishers) > 1:
        yield (
            'commands',
            BAD,
            f'{", ".join(publishers)} all publish on {command}; an arm takes torques from one',
        )
    elif publishers:
        yield (
            'commands',
            GOOD if listeners else NOTE,
            f'{publishers[0]} publishes on {command}, {listeners} listen',
        )
    else:
        yield 'commands', NOTE, f'nobody publishes on {command}'


def _nodes(statuses: dict[str, Status]) -> Iterator[Line]:
    levels = {'OK': GOOD, 'WARN': NOTE}
    carriers = [one for one in statuses.values() if one.subject == 'Guard']
    if not carriers:
        yield 'guard', NOTE, 'no feedforward node is heard'
    for one in carriers:
        yield 'guard', levels.get(one.level, BAD), f'{one.node}: {one.message}'
    for name, one in sorted(statuses.items()):
        if one.level not in levels:
            yield 'diagnostics', BAD, f'{name}: {one.message}'
