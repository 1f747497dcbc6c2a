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

from .external_watch import ExternalWatch
from .rivals import publisher_names
from ..control.cycle_result import Durations, Mode
from ..control.feedforward import FeedforwardController
from ..control.possible_motion import Condition

# Keys of the largest difference that the cross-check found at configure and while running.
RESIDUALS = tuple(
    f'{when} [N m, relative above 1 N m]' for when in ('at configure', 'while running')
)
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
        controller: FeedforwardController,
        latency: Durations,
        command_topic: str,
        external: ExternalWatch,
    ) -> None:
        super().__init__(node, controller.description.name)
        self._controller = controller
        self._latency = latency
        self._topic = command_topic
        self._external = external
        self._refused = ''
        self.times = PublicationTimes()
        self.clock = 'system'  # or 'simulated', or 'simulated, stands still'

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
        supervisor = self._controller.supervisor
        level = {
            Condition.TRUSTED: OK,
            Condition.ACQUIRING: WARN,
            Condition.WAITING: STALE,
            Condition.STALE: STALE,
        }.get(supervisor.condition, ERROR)
        message = supervisor.reason
        if not self._controller.enabled and self._controller.mode is Mode.SILENT:
            level, message = WARN, 'a node that is not active reads no joint states'
        counts = {
            f'{condition.value} (times)': count
            for condition, count in supervisor.counts.items()
            if count
        }
        return self.status(
            'Joint states',
            level,
            message,
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
        rivals = publisher_names(self._node, self._topic)
        level, message = WARN, status.reason
        if status.faulty:
            level, message = ERROR, str(status)
        if status.mode is Mode.RUNNING and not status.faulty:
            refused = f'reference refused: {self._refused}' if self._refused else ''
            second = f'{", ".join(rivals)} publishes on {self._topic}, too' if rivals else ''
            warning = refused or controller.unstable_gains() or second
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
                'other publishers of commands': ', '.join(rivals) or 'none',
                'latency p50 [us]': 1e6 * self._latency.percentile(50),
                'latency p99 [us]': 1e6 * self._latency.percentile(99),
                **shares,
            },
        )

    def _guard(self) -> DiagnosticStatus:
        controller = self._controller
        guard, names = controller.guard, controller.description.joint_names
        status = controller.status()
        if status.mode is not Mode.RUNNING:
            level = ERROR if controller.holding else WARN
            state = 'the arm is held at rest' if controller.holding else 'nothing is judged'
            message = f'{state}: {status}'
        else:
            good, message = guard.judgement()
            level = OK if good else WARN
            if good and controller.terms.receiver is not None:
                message += '; the node adds the part of gravity that the robot does not compensate'
            elif good and controller.terms.adds_gravity:
                message += '; the robot compensates gravity, and the node adds none'
        return self.status(
            'Guard',
            level,
            message,
            {
                'effort': 'measured' if guard.measured else 'not measured',
                'friction': 'taken out' if guard.takes_friction_out else 'not taken out',
                **{
                    f'largest share of bound, {name} [%]': 100.0 * float(share)
                    for name, share in zip(names, guard.largest)
                },
            },
        )

    def _models(self) -> DiagnosticStatus:
        check = self._controller.crosscheck
        fault = self._controller.fault
        level = ERROR if fault.startswith('cross-check') else OK
        message = 'the two models agree' if level is OK else fault
        return self.status(
            'Cross-check',
            level,
            message,
            {
                **dict(zip(RESIDUALS, (check.at_configure, check.largest))),
                'checks while running': check.checks,
            },
        )

    def _wrench_status(self) -> DiagnosticStatus:
        latest = self._controller.latest
        wrench = None if latest is None else self._external.wrench(latest[1])
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
