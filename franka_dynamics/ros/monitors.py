# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Does anybody else command this arm? Told by messages, since a dead publisher stays listed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import time
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from std_msgs.msg import Float64MultiArray

from .qos import STATE_QOS, WATCH_QOS
from ..control.contact import ContactLimits, ContactMonitor
from ..control.cycle_result import Cycle
from ..control.external_torque import friction_in_effort
from ..control.external_wrench import ExternalWrench, WrenchEstimator
from ..control.feedforward import FeedforwardController
from ..control.terms import TermModel
from ..dynamics.model import FLANGE
from ..errors import shortened

_REMEMBERED = 256  # commands of ours that may still come back to us
# Fast DDS lists a publisher whose process was killed for twenty seconds; and some more.
_LISTED_AFTER_DEATH_S = 25.0
_LISTENING_STEP_S = 1e-3
_FIRST_WARNING_S, _NEXT_WARNINGS_S = 2.0, 10.0


class CommandWatch:
    """
    Watches the command topic.

    While the graph shows one publisher (us) nothing is subscribed and nothing is paid. When it
    shows more, messages that are not ours tell a living competitor from a dead one.

    Parameters
    ----------
    node : Node
        Ours.
    publisher : Publisher
        Of our commands; its topic is watched.

    """

    def __init__(self, node: Any, publisher: Any) -> None:
        self._node = node
        self._publisher = publisher
        self._sent: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._subscription: Any = None
        self._foreign = 0
        self.rivals_seen = 0
        self.opened = False  # whether `check` has just begun to listen

    def listen(self, seconds: float) -> str:
        """Return who commands within this time before our activation, or an empty text."""
        began = time.monotonic()
        # In a group of its own, which no executor serves while this waits.
        subscription = self._node.create_subscription(
            Float64MultiArray,
            self._publisher.topic_name,
            lambda _: None,
            STATE_QOS,
            raw=True,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )
        heard = False
        try:
            while not heard and time.monotonic() - began < seconds:
                with subscription.handle:
                    heard = subscription.handle.take_message(Float64MultiArray, True) is not None
                time.sleep(_LISTENING_STEP_S)
        finally:
            self._node.destroy_subscription(subscription)
        if not heard:
            return ''
        return (
            f'somebody else commands {self._publisher.topic_name} (heard after '
            f'{1e3 * (time.monotonic() - began):.0f} ms); two sources of torque would '
            'take turns. Stop the other one, or remap ~/command'
        )

    @property
    def heard_publishers(self) -> int:
        """How many publishers, ours among them, are heard; 1 while nobody else was found."""
        subscription = self._subscription
        return 1 if subscription is None else int(subscription.get_publisher_count())

    def sent(self, data: bytes) -> None:
        """Remember a command of ours."""
        self._sent.append(data)

    def check(self) -> str:
        """Return who commands beside us, or an empty text; called many times per second."""
        self.opened = False
        publishers = self._node.count_publishers(self._publisher.topic_name)
        if publishers <= 1:
            self.close()
            return ''
        if self._subscription is None:
            self._foreign, self.opened = 0, True
            self._subscription = self._node.create_subscription(
                Float64MultiArray,
                self._publisher.topic_name,
                self._on_command,
                WATCH_QOS,
                raw=True,
            )
            return ''
        if not self._foreign:
            return ''
        return (
            f'somebody else commands {self._publisher.topic_name} ({self._foreign} messages '
            'that are not ours); stop the other one, then activate this node again'
        )

    def close(self) -> None:
        """Stop watching."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _on_command(self, data: bytes) -> None:
        if data not in self._sent:
            self._foreign += 1
            self.rivals_seen += 1


class MissingStates:
    """
    Says why nothing happens while no joint state has come: after 2 s, then every 10 s.

    Parameters
    ----------
    node : Node
        Whose graph is asked.

    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._topic, self._next, self._began = 'joint_states', 0.0, 0.0

    def begin(self, topic: str, now: float) -> None:
        """Wait anew, on a topic by its full name, from a time of the steady clock [s] on."""
        self._topic, self._began, self._next = topic, now, now + _FIRST_WARNING_S

    def check(self, waiting: bool, now: float) -> str:
        """Return a sentence if one is due while `waiting`, or an empty text."""
        if not waiting or now < self._next:
            return ''
        self._next = now + _NEXT_WARNINGS_S
        infos = self._node.get_publishers_info_by_topic(self._topic)
        kinds = sorted({info.topic_type for info in infos})
        if not infos:
            advice = (
                'nobody publishes there: start the driver or the simulator in this '
                'ROS_DOMAIN_ID, or remap joint_states to its topic'
            )
        elif kinds != ['sensor_msgs/msg/JointState']:
            advice = f'its type is {", ".join(kinds)}, not sensor_msgs/msg/JointState'
        else:
            advice = (
                f'{len(infos)} publish there: is the driver in control of the arm, and does '
                'its quality of service fit a best-effort reader?'
            )
        return (
            f'no joint state on {self._topic} for {now - self._began:.0f} s; {advice} '
            '(franka-dynamics doctor lists what there is)'
        )


class StatePublishers:
    """
    Counts who publishes joint states.

    One that comes while states flow is a second one. One that comes after a silence may be the
    first one's successor, whose predecessor is still listed: it is given the time that takes.

    Parameters
    ----------
    node : Node
        Whose graph is asked.

    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self.begin('joint_states')

    def begin(self, topic: str) -> None:
        """Count anew, on a topic by its full name."""
        self._topic = topic
        self.count = 0
        self._alone_and_trusted = False
        self._several_since: float | None = None

    def check(self, trusted: bool, now: float) -> str:
        """
        Return who publishes beside the arm's own driver, or an empty text.

        Parameters
        ----------
        trusted : bool
            Whether the stream of states is trusted now.
        now : float
            Steady clock [s].

        """
        self.count = self._node.count_publishers(self._topic)
        if self.count <= 1:
            self._several_since = None
            self._alone_and_trusted = trusted and self.count == 1
            return ''
        if self._several_since is None:
            self._several_since = now
        came_beside = self._alone_and_trusted and trusted
        self._alone_and_trusted = came_beside
        if came_beside or now - self._several_since > _LISTED_AFTER_DEATH_S:
            return (
                f'{self.count} nodes publish {self._topic}; states of two arms, or of one '
                'twice, cannot be told apart. Stop or remap the other one, then activate '
                'this node again'
            )
        return ''


class ContactWatch:
    """
    Runs a contact monitor on the controller's cycles.

    Parameters
    ----------
    controller : FeedforwardController
        Whose cycles are watched; a change of its payload or gravity starts the monitor anew.
    limits : ContactLimits
        When it is a contact.
    effort_friction : str
        One of control.external_torque.EFFORT_FRICTION.
    frame : int or str
        In which diagnostics give the external wrench.
    tool_center : sequence of float
        Where it acts in that frame [m].

    Raises
    ------
    SettingsError
        If friction is said to be included that the arm file does not hold, or the tool centre
        is no point.
    FrameError
        If there is no such frame.

    """

    def __init__(
        self,
        controller: FeedforwardController,
        limits: ContactLimits,
        effort_friction: str,
        frame: int | str = FLANGE,
        tool_center: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        self._controller = controller
        self._limits = limits
        self._frame, self._tool_center = frame, tool_center
        self._effort_friction = effort_friction
        self._terms: TermModel | None = None
        self.monitor = self._new_monitor()
        self.listening = False
        self.effort_seen = False
        self.failure = ''  # why nothing is watched any more

    def _new_monitor(self) -> ContactMonitor:
        controller = self._controller
        friction = friction_in_effort(
            self._effort_friction, controller.description, controller.settings.profile
        )
        self._terms = controller.terms
        self.friction = friction is not None
        self._wrench = WrenchEstimator(controller.terms.true, self._frame, self._tool_center)
        return ContactMonitor(controller.terms.true, self._limits, friction)

    def listen(self, requested: bool) -> None:
        """Watch from now on, or no longer; nothing is computed while nobody listens."""
        if requested and not self.listening:
            self.monitor.restart()
        self.listening = requested and not self.failure

    def wrench(self) -> ExternalWrench | None:
        """Return the external wrench now; None while it is not known."""
        monitor = self.monitor
        if not (self.listening and self.effort_seen and monitor.settled):
            return None
        return self._wrench.estimate(monitor.position, monitor.load + monitor.fast)

    def run(self, cycle: Cycle) -> bool:
        """
        Take a cycle while listening; return whether the contact flag changed.

        A monitor that fails ends with a sentence in `failure`: the arm needs the commands more.
        """
        self.effort_seen = cycle.effort is not None
        if cycle.effort is None:
            return False
        try:
            return self._update(cycle)
        except Exception as error:
            self.failure = shortened(repr(error), 200)
            self.listening = False
            return True

    def _update(self, cycle: Cycle) -> bool:
        if self._controller.terms is not self._terms:
            contacts = self.monitor.contacts
            self.monitor = self._new_monitor()
            self.monitor.contacts = contacts
        assert cycle.effort is not None
        return self.monitor.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
