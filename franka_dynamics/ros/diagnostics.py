# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the feedforward node says about itself, once per second and soon after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np

from .external_watch import ExternalWatch
from .rivals import CommandWatch
from ..control.contact import LOAD_WARNING_KG, origin
from ..control.cycle_result import Durations, Mode
from ..control.feedforward import FeedforwardController
from ..control.gravity_monitor import GravityState
from ..control.possible_motion import Condition

_NO_GRAVITY = 0.01  # share of g(q) that a command of the other terms may seem to carry
OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)


class StatusPublisher:
    """
    Publishes what a node says of itself and its arm.

    Parameters
    ----------
    node : Node
        Whose name the statuses carry.
    arm : str
        Their hardware id.
    topic : str
        Where to.
    qos : int or QoSProfile
        Of the topic.

    """

    def __init__(self, node: Any, arm: str, topic: str = '/diagnostics', qos: Any = 10) -> None:
        self._node, self._arm = node, arm
        self._name = node.get_fully_qualified_name().lstrip('/')
        # No lifecycle publisher: a node that may not command may still say why.
        self._publisher = node.create_publisher(DiagnosticArray, topic, qos)

    @property
    def listened_to(self) -> bool:
        """Whether anybody reads it."""
        return bool(self._publisher.get_subscription_count() > 0)

    def status(
        self, subject: str, level: bytes, message: str, pairs: Mapping[str, Any]
    ) -> DiagnosticStatus:
        """Return one status; numbers are written with six significant digits."""
        return DiagnosticStatus(
            level=level,
            name=f'{self._name}: {subject}',
            message=message,
            hardware_id=self._arm,
            values=[
                KeyValue(key=key, value=f'{value:.6g}' if isinstance(value, float) else str(value))
                for key, value in pairs.items()
            ],
        )

    def publish(self, *statuses: DiagnosticStatus, stamp: Time | None = None) -> None:
        """Publish statuses, of now by the node's clock if no stamp is given."""
        message = DiagnosticArray(status=statuses)
        message.header.stamp = self._node.get_clock().now().to_msg() if stamp is None else stamp
        self._publisher.publish(message)

    def destroy(self) -> None:
        """Take the topic down."""
        self._node.destroy_publisher(self._publisher)


_PERIOD_S, _SOON_S = 1.0, 0.1


class PublicationTimes:
    """When diagnostics are due: once per second, and soon after something changed."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PERIOD_S

    def note_change(self) -> None:
        """Have what changed told soon: a burst of changes is told once."""
        self._next = min(self._next, time.monotonic() + _SOON_S)

    def run(self, publish: Callable[[], None]) -> float:
        """Publish if that is due; return for how long it will not be, as things stand [s]."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PERIOD_S
            publish()
        return min(self._next - now, _SOON_S)


class FeedforwardDiagnostics(StatusPublisher):
    """
    Publishes states, rates, latencies, margins and who compensates gravity.

    By the thread of the services, without a lock: reading a moment too late does no harm, and the
    cycle must not wait.
    """

    def __init__(
        self,
        node: Any,
        controller: FeedforwardController,
        latency: Durations,
        watch: CommandWatch,
        external: ExternalWatch,
    ) -> None:
        super().__init__(node, controller.description.name)
        self._controller = controller
        self._latency = latency
        self._watch = watch
        self._external = external
        self._refused = ''
        self.times = PublicationTimes()
        self.clock = 'system'  # or simulated, and whether it stands still

    def note_refused_reference(self, reason: str) -> None:
        """Remember why the last reference was refused; empty if it was not."""
        self._refused = reason

    def publish_all(self) -> None:
        """Publish all statuses."""
        self.publish(
            self._joint_states(),
            self._command(),
            self._gravity(),
            self._models(),
            self._contact_status(),
            self._wrench_status(),
            self._limits(),
        )

    def publish_contact(self) -> None:
        """Publish the contact alone, when it begins or ends."""
        self.publish(self._contact_status())

    def _joint_states(self) -> DiagnosticStatus:
        supervisor = self._controller.supervisor
        level = {
            Condition.TRUSTED: OK,
            Condition.ACQUIRING: WARN,
            Condition.WAITING: STALE,
            Condition.STALE: STALE,
        }.get(supervisor.condition, ERROR)
        counts = {
            f'{condition.value} (times)': count
            for condition, count in supervisor.counts.items()
            if count
        }
        return self.status(
            'Joint states',
            level,
            supervisor.reason,
            {
                'condition': supervisor.condition.value,
                'rate [Hz]': supervisor.rate,
                'clock': self.clock,
                'age [ms]': 1e3 * supervisor.age,
                'repeated stamps': supervisor.repeated,
                'out of order': supervisor.out_of_order,
                'dropped': supervisor.dropped,
                **counts,
            },
        )

    def _command(self) -> DiagnosticStatus:
        controller = self._controller
        counters = controller.counters
        status = controller.status()
        level, message = ERROR if status.faulty else WARN, status.reason
        if status.mode is Mode.RUNNING and not status.faulty:
            refused = f'reference refused: {self._refused}' if self._refused else ''
            warning = refused or controller.gain_warning
            level, message = (WARN, warning) if warning else (OK, status.reason)
        shares = {
            f'largest share of limit, {name} [%]': 100.0 * float(share)
            for name, share in zip(controller.description.joint_names, counters.largest_share)
        }
        return self.status(
            'Command',
            level,
            message,
            {
                'mode': status.mode.value,
                'status': str(status),
                'target': controller.settings.target,
                'published': counters.commands,
                'cut by torque limit': counters.cut_by_limit,
                'cut by rate limit': counters.cut_by_rate,
                'stops': counters.stops,
                'restarts by itself': controller.faults.restarts,
                'faults latched': controller.faults.latched,
                **{
                    f'references {state.value}': count
                    for state, count in controller.reference.counts.items()
                },
                'publishers of commands heard': self._watch.heard_publishers,
                'foreign commands heard': self._watch.rivals_seen,
                'latency p50 [us]': 1e6 * self._latency.percentile(50),
                'latency p99 [us]': 1e6 * self._latency.percentile(99),
                **shares,
            },
        )

    def _gravity(self) -> DiagnosticStatus:
        controller = self._controller
        evidence = controller.gravity_evidence
        expected = controller.settings.profile.receiver_adds_gravity
        level, message = OK, f'{evidence.state.value}: {evidence.sentence}'
        compensated = evidence.state is GravityState.COMPENSATED
        if expected and compensated and abs(evidence.commanded) < _NO_GRAVITY:
            message = 'The robot carries itself; we add nothing.'
        if expected and evidence.state is GravityState.UNCOMPENSATED:
            level = WARN
            message = (
                f'target {controller.settings.target} should carry the arm, but nobody '
                f'does: {evidence.sentence}'
            )
        return self.status(
            'Gravity compensation',
            level,
            message,
            {
                'state': evidence.state.value,
                'commanded by us [%]': 100.0 * evidence.commanded,
                'added by others [%]': 100.0 * evidence.added,
                'seen to act [%]': 100.0 * evidence.acting,
            },
        )

    def _models(self) -> DiagnosticStatus:
        check = self._controller.crosscheck
        conflict = self._controller.conflict
        level = ERROR if conflict.startswith('cross-check') else OK
        message = 'the two models agree' if level is OK else conflict
        return self.status(
            'Cross-check',
            level,
            message,
            {
                'at configure [N m]': check.at_configure,
                'while running [N m]': check.largest,
                'checks while running': check.checks,
            },
        )

    def _contact_status(self) -> DiagnosticStatus:
        watch, names = self._external, self._controller.description.joint_names
        monitor = watch.monitor
        mass = monitor.load_mass()
        level, message = OK, 'no contact'
        if watch.failure:
            level = ERROR
            message = (
                f'not watched any more: {watch.failure}; configure the node anew, and report this'
            )
        elif not watch.effort_seen:
            message = 'not known: the joint states carry no measured effort'
        elif not monitor.settled:
            message = 'not known yet: too few joint states'
        elif monitor.in_contact and monitor.latest is not None:
            level = WARN
            message = (
                f'contact, felt first at {names[monitor.latest.joint]}, at link '
                f'{monitor.latest.link} or beyond'
            )
        elif abs(mass) > LOAD_WARNING_KG:
            level = WARN
            message = (
                f'the arm seems to carry {abs(mass):.2f} kg {"more" if mass > 0.0 else "less"} '
                'than payload and hand say, and fast motion may be taken for contact; set '
                'payload and hand, or check that the measured effort contains gravity'
            )
        pairs: dict[str, Any] = {
            'contact': monitor.in_contact,
            'contacts': monitor.contacts,
            'largest share of threshold [%]': 100.0 * monitor.largest_share,
            'load at the flange [kg]': mass,
            'friction': 'subtracted' if watch.friction else 'not subtracted',
            'thresholds': origin(self._controller.description, monitor.limits),
        }
        monitor.largest_share = 0.0
        if monitor.latest is not None:
            pairs.update(
                {
                    'latest began at [s]': f'{monitor.latest.stamp:.6f}',
                    'latest felt first at': names[monitor.latest.joint],
                    'latest peak [N m]': monitor.latest.peak,
                    'latest at link, or beyond': monitor.latest.link,
                }
            )
        return self.status('Contact', level, message, pairs)

    def _wrench_status(self) -> DiagnosticStatus:
        wrench = self._external.present_wrench()
        if wrench is None:
            return self.status('External wrench', OK, 'not known (see Contact)', {})
        rows = ('fx [N]', 'fy [N]', 'fz [N]', 'mx [N m]', 'my [N m]', 'mz [N m]')
        deviations = np.sqrt(np.diag(wrench.covariance))
        return self.status(
            'External wrench',
            WARN if wrench.singular else OK,
            wrench.sentence(),
            {
                'singular': wrench.singular,
                **dict(zip(rows, wrench.wrench.tolist())),
                **{f'deviation, {row}': float(value) for row, value in zip(rows, deviations)},
                'not explained by it [N m]': wrench.unexplained,
            },
        )

    def _limits(self) -> DiagnosticStatus:
        description, mass = self._controller.description, self._controller.settings.payload[0]
        payload = f', payload {mass:g} kg' if mass else ''
        return self.status(
            'Arm',
            OK,
            f'{description.name} ({description.inertial_set}, hand {description.hand}{payload})',
            {
                f'torque limit, {joint.name} [N m]': float(joint.limits.effort)
                for joint in description.joints
            },
        )
