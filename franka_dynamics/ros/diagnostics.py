# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics, which a configured feedforward node publishes each second and after changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np

from .durations import Durations
from .external_watch import ExternalWatch
from .qos import DESCRIPTION_QOS
from .rivals import publisher_names
from ..control.feedforward import Feedforward, State

# Key of the largest difference that the cross-check of the model in use found.
RESIDUAL = 'largest difference [N m, relative above 1 N m]'
_NEAR_BOUND = 0.8  # share of a bound above which diagnostics warn
OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)


class StatusPublisher:
    """Publishes diagnostics of a node and its arm."""

    def __init__(self, node: Any, arm: str, topic: str = '/diagnostics', qos: Any = 10) -> None:
        self._node, self._arm = node, arm
        self._name = node.get_fully_qualified_name().lstrip('/')
        # No lifecycle publisher, because nodes without lifecycle publish diagnostics, too.
        self._publisher = node.create_publisher(DiagnosticArray, topic, qos)

    def status(
        self, subject: str, level: bytes, message: str, pairs: Mapping[str, Any]
    ) -> DiagnosticStatus:
        """Return one status; floats are written with six significant digits."""
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
        """Publish statuses, stamped with the node's clock if no stamp is given."""
        message = DiagnosticArray(status=statuses)
        message.header.stamp = self._node.get_clock().now().to_msg() if stamp is None else stamp
        self._publisher.publish(message)

    def destroy(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_publisher(self._publisher)


_PERIOD_S, _SOON_S = 1.0, 0.1


class PublicationTimes:
    """Decides when diagnostics are due: after 1 s, or 0.1 s after a change if that is sooner."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PERIOD_S

    def note_change(self) -> None:
        """Make diagnostics due within 0.1 s; further changes until then do not postpone them."""
        self._next = min(self._next, time.monotonic() + _SOON_S)

    def run(self, publish: Callable[[], None]) -> float:
        """Call `publish` if diagnostics are due; return the time until the next call [s]."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PERIOD_S
            publish()
        return min(self._next - now, _SOON_S)


class FeedforwardDiagnostics(StatusPublisher):
    """
    Publishes six statuses: joint states, command, guard, cross-check, external wrench and arm.

    The service thread publishes diagnostics and reads the controller without the lock: slightly
    old values do no harm, and the control cycle must not wait.
    """

    def __init__(
        self,
        node: Any,
        controller: Feedforward,
        latency: Durations,
        command_topic: str,
        external: ExternalWatch,
    ) -> None:
        super().__init__(node, controller.description.name)
        self._controller = controller
        self._latency = latency
        self._topic = command_topic
        self._status = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self._external = external
        self._refused, self.residual = '', float('nan')
        self.times = PublicationTimes()
        self.clock = 'system'  # or 'simulated', or 'simulated, stands still'

    def publish_status(self) -> None:
        """
        Publish the typed status on ~/status, where late subscribers get the latest one.

        Its level is STALE while the node waits, OK while it commands torques, WARN while it brakes
        or holds the arm, ERROR while a fault is latched.
        """
        status = self._controller.status
        level = {State.SILENT: STALE, State.RUNNING: OK}.get(status.state, WARN)
        values = {'state': status.state.value, 'to command again': status.remedy}
        self._status.publish(
            DiagnosticStatus(
                level=ERROR if status.faulty else level,
                name=self._name,
                message=status.why,
                hardware_id=self._arm,
                values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
            )
        )

    def destroy(self) -> None:
        """Destroy the publishers."""
        self._node.destroy_publisher(self._status)
        super().destroy()

    def note_refused_reference(self, reason: str) -> None:
        """Store why the last reference was refused, '' if it was accepted."""
        self._refused = reason

    def publish_all(self) -> None:
        """Publish all statuses."""
        self.publish(
            self._joint_states(),
            self._command(),
            self._guard(),
            self._models(),
            self._wrench_status(),
            self._limits(),
        )

    def _joint_states(self) -> DiagnosticStatus:
        controller = self._controller
        level, message = OK, 'states are complete, fresh and fast'
        if controller.ended:
            level, message = WARN, 'a node that is not active reads no joint states'
        elif controller.trouble:
            level, message = ERROR if controller.latest is None else STALE, controller.trouble
        elif not controller.usable:
            level, message = WARN, controller.why
        return self.status(
            'Joint states',
            level,
            message,
            {
                'rate [Hz]': 1.0 / controller.period,
                'clock': self.clock,
                'age [ms]': 1e3 * controller.age,
                'unusable': controller.counts['unusable states'],
            },
        )

    def _command(self) -> DiagnosticStatus:
        controller = self._controller
        status = controller.status
        level, message = (ERROR if status.faulty else WARN), str(status)
        rivals = publisher_names(self._node, self._topic)
        if status.state is State.RUNNING:
            refused = f'reference refused: {self._refused}' if self._refused else ''
            second = f'{", ".join(rivals)} publishes on {self._topic}, too' if rivals else ''
            warning = refused or second
            level, message = (WARN, warning) if warning else (OK, status.why)
        shares = {
            f'largest share of limit, {name} [%]': 100.0 * float(share)
            for name, share in zip(controller.names, controller.largest_share)
        }
        return self.status(
            'Command',
            level,
            message,
            {
                'mode': status.state.value,
                'status': str(status),
                'target': controller.settings.target,
                'published': controller.counts['commands'],
                'cut by torque or rate limit': controller.counts['limited'],
                'stops': controller.counts['stops'],
                'faults latched': controller.counts['faults'],
                **{
                    f'references {state.value}': count
                    for state, count in controller.reference.counts.items()
                },
                'other publishers of commands': ', '.join(rivals) or 'none',
                'latency p50 [us]': 1e6 * self._latency.percentile(50),
                'latency p99 [us]': 1e6 * self._latency.percentile(99),
                **shares,
            },
        )

    def _guard(self) -> DiagnosticStatus:
        controller = self._controller
        status, terms = controller.status, controller.law.terms
        near = float(controller.largest_of_bound.max())
        level, message = OK, 'the arm does what the model says'
        if status.state is not State.RUNNING:
            level, message = (ERROR if status.faulty else WARN), str(status)
        elif near > _NEAR_BOUND:
            joint = controller.names[int(controller.largest_of_bound.argmax())]
            level, message = WARN, f'{joint} came near its bound ({near:.0%} of it)'
        elif terms.receiver is not None:
            message += '; the node adds the part of gravity that the robot does not compensate'
        elif terms.adds_gravity:
            message += '; the robot compensates gravity, and the node adds none'
        return self.status(
            'Guard',
            level,
            message,
            {
                'effort': 'measured' if controller.measured else 'not measured',
                **{
                    f'largest share of bound, {name} [%]': 100.0 * float(share)
                    for name, share in zip(controller.names, controller.largest_of_bound)
                },
            },
        )

    def _models(self) -> DiagnosticStatus:
        return self.status(
            'Cross-check',
            OK,
            'the two models agree',
            {RESIDUAL: self.residual},
        )

    def _wrench_status(self) -> DiagnosticStatus:
        latest = self._controller.latest
        wrench = None if latest is None else self._external.wrench(latest.q)
        if wrench is None:
            unknown = 'unknown: effort is not measured, or too few states came'
            return self.status('External wrench', OK, unknown, {})
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
