# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics, which a configured feedforward node publishes each second and after changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np

from .messages import DESCRIPTION_QOS, ERROR, OK, publisher_names, STALE, status_message, WARN
from .references import References
from .term_publishers import ExternalWatch
from ..control.feedforward import Feedforward, State, Status

# Key of the largest difference that the cross-check of the model in use found.
RESIDUAL = 'largest difference [N m, relative above 1 N m]'
_NEAR_BOUND = 0.8  # share of a bound above which diagnostics warn


class Durations:
    """Keeps the latest `size` durations [s]; `add` allocates no memory."""

    def __init__(self, size: int = 4096) -> None:
        self._ring = np.zeros(size)
        self._count = 0

    def add(self, seconds: float) -> None:
        """Add a duration [s], which replaces the oldest once `size` durations are kept."""
        self._ring[self._count % len(self._ring)] = seconds
        self._count += 1

    def percentile(self, percent: float) -> float:
        """Return a percentile of the durations [s]; NaN if there are none."""
        kept = self._ring[: min(self._count, len(self._ring))]
        return float(np.percentile(kept, percent)) if len(kept) else float('nan')


class StatusPublisher:
    """Publishes diagnostics of a node and its arm."""

    def __init__(self, node: Any, arm: str = '') -> None:
        self._node, self._arm = node, arm
        self._name = node.get_fully_qualified_name().lstrip('/')
        # No lifecycle publisher, because nodes without lifecycle publish diagnostics, too.
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)

    def status(
        self, subject: str, level: bytes, message: str, pairs: Mapping[str, Any]
    ) -> DiagnosticStatus:
        """Return the status of one subject."""
        return status_message(f'{self._name}: {subject}', level, message, pairs, self._arm)

    def publish(self, *statuses: DiagnosticStatus) -> None:
        """Publish statuses, stamped with the node's clock."""
        message = DiagnosticArray(status=statuses)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


_PERIOD_S, _SOON_S = 1.0, 0.1


class PublicationTimes:
    """Decides when diagnostics are due: after 1 s, or 0.1 s after a change if that is sooner."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PERIOD_S

    def note_change(self) -> None:
        """Make diagnostics due within 0.1 s; further changes until then do not postpone them."""
        self._next = min(self._next, time.monotonic() + _SOON_S)

    def publish_if_due(self, publish: Callable[[], None]) -> float:
        """Call `publish` if diagnostics are due; return the time until the next call [s]."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PERIOD_S
            publish()
        return min(self._next - now, _SOON_S)


_MISSING_S, _MISSING_PERIOD_S = 2.0, 10.0  # no joint state: when to say so first, and again [s]
_CLOCK_STANDS_S = 1.0  # a simulated clock that has not moved for this long stands still [s]


class FeedforwardDiagnostics(StatusPublisher):
    """
    Publishes and logs what the node does; `use` gives the controller.

    The service thread publishes diagnostics and reads the controller without the lock: slightly
    old values do no harm, and the control cycle must not wait.
    """

    def __init__(self, node: Any, command_topic: str, references: References) -> None:
        super().__init__(node)
        self._topic, self._references = command_topic, references
        self._status = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self.latency, self.times = Durations(), PublicationTimes()
        self._clock = 'system'  # or 'simulated', or 'simulated, stands still'

    def use(self, controller: Feedforward, external: ExternalWatch, residual: float) -> None:
        """Report on a controller from now on; `residual` is that of its cross-check."""
        self._controller, self._external, self.residual = controller, external, residual
        self._arm = controller.description.name
        self._references.refused = ''

    def begin(self, states: str, *, simulated_time: bool) -> None:
        """Begin an activation with joint states on the topic `states`."""
        self._states, self._clock = states, 'simulated' if simulated_time else 'system'
        self._begun = self._clock_moved = time.monotonic()
        self._clock_shown, self._waiting_told = -1.0, False

    def report(self, status: Status, waits: bool) -> None:
        """
        Log and publish a status; `waits` says that usable states came without a torque.

        It goes to ~/status, where late subscribers get the latest one. Its level is STALE while
        the node waits, OK while it commands torques, WARN while it brakes or holds the arm, ERROR
        while a fault is latched.
        """
        logger = self._node.get_logger()
        if status.faulty:
            logger.error(f'fault: {status}')
        elif status.state is State.RUNNING:
            logger.info(f'commanding (target {self._controller.settings.target})')
        elif status.state is not State.SILENT:
            logger.warning(f'{status}')
        elif not waits:
            logger.info(f'{status}')
        elif not self._waiting_told:  # once in an activation: the reason may change often
            self._waiting_told = True
            logger.warning(f'no torque yet: {status.why}')
        level = {State.SILENT: STALE, State.RUNNING: OK}.get(status.state, WARN)
        values = {'state': status.state.value, 'to command again': status.remedy}
        self._status.publish(
            status_message(
                self._name, ERROR if status.faulty else level, status.why, values, self._arm
            )
        )
        self.times.note_change()

    def look(self, clock: float) -> None:
        """
        Say that no joint state has come, and that simulated time stands still or goes on.

        `clock` is the node's time [s].
        """
        logger, now = self._node.get_logger(), time.monotonic()
        if self._controller.latest is None and now - self._begun > _MISSING_S:
            logger.warning(
                f'no joint state on {self._states} for {now - self._begun:.0f} s, where '
                f'{self._node.count_publishers(self._states)} publish; `franka-dynamics doctor` '
                'lists what there is: start the driver or the simulator in this ROS_DOMAIN_ID, or '
                'remap joint_states to its topic',
                throttle_duration_sec=_MISSING_PERIOD_S,
            )
        if self._clock == 'system':
            return
        if clock != self._clock_shown:
            self._clock_shown, self._clock_moved = clock, now
        stands = now - self._clock_moved > _CLOCK_STANDS_S
        before, self._clock = self._clock, 'simulated, stands still' if stands else 'simulated'
        if self._clock != before:
            logger.info(
                f'simulated time {"stands still" if stands else "goes on"} at {clock:.3f} s'
                if clock
                else 'no time has come on /clock, which use_sim_time waits for'
            )

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
                'clock': self._clock,
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
            refused = self._references.refused and (
                f'reference refused: {self._references.refused}'
            )
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
                'latency p50 [us]': 1e6 * self.latency.percentile(50),
                'latency p99 [us]': 1e6 * self.latency.percentile(99),
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
