# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Whether the joint states of an arm come from one source.

States of two arms, or of two drivers of one, cannot be told apart by their values. Two sources
show in the sequence numbers of messages (`SecondPublisherDetector`) or, with a middleware that
numbers none, in the number of publishers that are connected (`StatePublisherCounter`).
`StateSources` takes what there is, and names the publishers.
"""

from collections.abc import Sequence
import math
import time
from typing import Any

from ..topics import publisher_names

# Sentences with names are made at most this often [s]: it takes longer than a control cycle.
_NAMING_PERIOD_S = 1.0
# Sequence numbers of two publishers fall again and again, those of a restarted publisher once.
# Without this the row states of benchmarks/receivers.py is bad.
_MAX_MESSAGES_BETWEEN_DROPS = 2000


class SecondPublisherDetector:
    """
    A detector of a second publisher of a topic by falling sequence numbers of messages.

    `has_dropped` says whether the latest number is lower than the one before: it is the first of a
    publisher that was restarted, or of a second one.
    """

    def __init__(self) -> None:
        """Begin with no sequence number received."""
        self._last_number = 0
        self._count_since_drop = _MAX_MESSAGES_BETWEEN_DROPS  # of messages
        self.has_dropped = False

    def add_sequence_number(self, sequence_number: int) -> bool:
        """Add a message's sequence number; return whether the latest ones show two publishers."""
        self.has_dropped = sequence_number <= self._last_number
        self._last_number = sequence_number
        self._count_since_drop += 1
        if not self.has_dropped:
            return False
        message_count = self._count_since_drop
        self._count_since_drop = 0
        return message_count <= _MAX_MESSAGES_BETWEEN_DROPS


# While torques flow, a new publisher has this time to show which joints it has: as long as an
# unknown receiver may stay.
_SHOW_JOINTS_TIME_S = 2.0
MAX_JOINT_SETS = 100  # that are remembered, so that no publisher fills the memory


class StatePublisherCounter:
    """
    A counter of publishers of joint states that may be an arm's, where messages have no numbers.

    Nothing in a message says which publisher it is of. So each group of joints that comes in
    messages without the arm's joints, such as a gripper's, counts as a publisher of its own, and
    more than one publisher beside these is a second source of the arm's states. One publisher of
    several such groups may hide a second source; what tells two arms apart then is that positions
    jump.
    """

    def __init__(self) -> None:
        """Begin with one publisher, the arm's."""
        self._publisher_count = 1
        self._count_since = -math.inf  # since when there are so many publishers [s]
        # When a message of each group of joints that are not the arm's came last [s].
        self._heard_at = dict[frozenset[str], float]()

    def add_other_joints(self, joint_names: Sequence[str], now: float) -> None:
        """Add a message at the time `now` [s] that has none of the arm's joints."""
        group = frozenset(joint_names)
        overlapping = [other for other in self._heard_at if other & group and other != group]
        for other in overlapping:
            group |= other  # of one publisher, which does not send all of its joints each time
            del self._heard_at[other]
        if group in self._heard_at or len(self._heard_at) < MAX_JOINT_SETS:
            self._heard_at[group] = now

    def has_second_source(self, publisher_count: int, now: float, *, acts: bool) -> bool:
        """
        Return whether, of so many publishers at the time `now` [s], two may be the arm's.

        `acts` says whether torques flow. Before they do, a publisher whose joints are not known
        counts at once. While they flow, it counts after _SHOW_JOINTS_TIME_S.
        """
        if publisher_count != self._publisher_count:
            self._publisher_count = publisher_count
            self._count_since = now
        is_settled = now >= self._count_since + _SHOW_JOINTS_TIME_S
        if is_settled:
            # Joints heard before the count changed may be those of a publisher that has left.
            self._heard_at = {
                group: time for group, time in self._heard_at.items() if time >= self._count_since
            }
        arm_publisher_count = self._publisher_count - len(self._heard_at)
        return arm_publisher_count > 1 and (is_settled or not acts)


class StateSources:
    """
    Tells whether a second source publishes the joint states that a node reads, and names both.

    `subscription` is the node's subscription to joint states. `problem` says that there is a
    second source, '' if the latest joint state does not show one.
    """

    subscription: Any

    def __init__(self, node: Any) -> None:
        """Store the node; `on_activation` begins the watch."""
        self._node = node
        self.problem = ''

    def on_activation(self, topic: str) -> None:
        """Begin to watch the sources of joint states on a topic, of which nothing is known yet."""
        self._topic = topic
        self._detector = SecondPublisherDetector()
        self._publishers = StatePublisherCounter()
        self._next_naming = 0.0
        self._text = ''
        self.problem = ''

    def add_other_joints(self, joint_names: Sequence[str]) -> None:
        """Add the joints of a joint state that has none of the arm's."""
        self._publishers.add_other_joints(joint_names, time.monotonic())

    def check_sequence_number(self, sequence_number: int | None, *, acts: bool = False) -> str:
        """
        Return an error text if a joint state shows a second source, else ''.

        The sequence number of its message shows it. The number is None if the middleware, such as
        Cyclone DDS, numbers no messages: then the publishers that it has connected are counted,
        without those of other joints. A killed one counts for some seconds. `acts` says whether
        torques flow.
        """
        if sequence_number is None:
            count = self.subscription.get_publisher_count()
            now = time.monotonic()
            is_second = self._publishers.has_second_source(count, now, acts=acts)
        else:
            is_second = self._detector.add_sequence_number(sequence_number)
        self.problem = self._two_sources_text() if is_second else ''
        return self.problem

    @property
    def has_new_publisher(self) -> bool:
        """Whether the latest joint state is the first of another, or restarted, publisher."""
        return self._detector.has_dropped

    def _two_sources_text(self) -> str:
        """Return text that says that two nodes publish joint states, with the nodes' names."""
        now = time.monotonic()
        if now >= self._next_naming:
            self._next_naming = now + _NAMING_PERIOD_S
            names = ', '.join(publisher_names(self._node, self._topic))
            self._text = (
                f'a second node publishes {self._topic}, and states of two arms cannot be told '
                f'apart; stop or remap the other one (publishers listed: {names})'
            )
        return self._text
