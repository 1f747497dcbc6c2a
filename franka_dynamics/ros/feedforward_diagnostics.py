# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the feedforward node says about itself once per second."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from .command_watch import CommandWatch
from .contact_watch import ContactWatch
from .diagnostics import diagnostic_array, ERROR, OK, STALE, status, WARN
from .running_crosscheck import RunningCrosscheck
from ..control.contact import LOAD_WARNING_KG
from ..control.feedforward import FeedforwardController, Mode
from ..control.gravity_watch import GravityState
from ..control.statistics import Durations
from ..control.supervision import Condition


class FeedforwardDiagnostics:
    """Publishes states, rates, latencies, margins and who compensates gravity."""

    def __init__(self, node: Any, controller: FeedforwardController, latency: Durations,
                 crosscheck: RunningCrosscheck, watch: CommandWatch,
                 contact: ContactWatch) -> None:
        self._node = node
        self._controller = controller
        self._latency = latency
        self._crosscheck = crosscheck
        self._watch = watch
        self._contact = contact
        self._refused = ''
        self._refusals = 0
        # No lifecycle publisher: a node that may not command may still say why.
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)

    def note_refused_reference(self, reason: str) -> None:
        """Remember why the last reference was refused; empty if it was not."""
        self._refused = reason
        self._refusals += bool(reason)

    def publish(self) -> None:
        """Publish all statuses."""
        self._publisher.publish(diagnostic_array(self._node, [
            self._joint_states(), self._command(), self._gravity(), self._models(),
            self._contact_status(), self._arm()]))

    @property
    def listened_to(self) -> bool:
        """Whether anybody reads diagnostics."""
        return bool(self._publisher.get_subscription_count() > 0)

    def publish_contact(self) -> None:
        """Publish the contact alone, when it begins or ends."""
        self._publisher.publish(diagnostic_array(self._node, [self._contact_status()]))

    def destroy(self) -> None:
        """Take the topic down."""
        self._node.destroy_publisher(self._publisher)

    def _status(self, subject: str, level: bytes, message: str, pairs: dict[str, Any],
                ) -> DiagnosticStatus:
        return status(self._node.get_fully_qualified_name().lstrip('/'), subject, level, message,
                      self._controller.description.name, pairs)

    def _joint_states(self) -> DiagnosticStatus:
        supervisor = self._controller.supervisor
        level = {Condition.TRUSTED: OK, Condition.ACQUIRING: WARN, Condition.WAITING: STALE,
                 Condition.STALE: STALE}.get(supervisor.condition, ERROR)
        counts = {f'{condition.value} (times)': count
                  for condition, count in supervisor.counts.items() if count}
        return self._status('Joint states', level, supervisor.reason, {
            'condition': supervisor.condition.value, 'rate [Hz]': supervisor.rate,
            'age [ms]': 1e3 * supervisor.age, 'repeated stamps': supervisor.repeated,
            'out of order': supervisor.out_of_order, 'dropped': supervisor.dropped, **counts})

    def _command(self) -> DiagnosticStatus:
        controller = self._controller
        counters = controller.counters
        if controller.conflict:
            level, message = ERROR, controller.conflict
        elif controller.mode is Mode.RUNNING:
            level, message = (WARN, f'reference refused: {self._refused}') if self._refused else (
                OK, 'torques are published')
        else:
            level = WARN
            message = controller.stop_reason or 'waiting for a state to be trusted'
        shares = {f'largest share of limit, {name} [%]': 100.0 * float(share)
                  for name, share in zip(controller.description.joint_names,
                                         counters.largest_share)}
        return self._status('Command', level, message, {
            'mode': controller.mode.value, 'target': controller.settings.target,
            'published': counters.commands, 'cut by torque limit': counters.cut_by_limit,
            'cut by rate limit': counters.cut_by_rate, 'stops': counters.stops,
            'references refused': self._refusals,
            'foreign commands heard': self._watch.rivals_seen,
            'latency p50 [us]': 1e6 * self._latency.percentile(50),
            'latency p99 [us]': 1e6 * self._latency.percentile(99), **shares})

    def _gravity(self) -> DiagnosticStatus:
        controller = self._controller
        evidence = controller.gravity_watch.evidence
        expected = controller.settings.profile.receiver_adds_gravity
        level, message = OK, f'{evidence.state.value}: {evidence.sentence}'
        if expected and evidence.state is GravityState.UNCOMPENSATED:
            level = WARN
            message = (f'target {controller.settings.target} should carry the arm, but nobody '
                       f'does: {evidence.sentence}')
        return self._status('Gravity compensation', level, message, {
            'state': evidence.state.value, 'commanded by us [%]': 100.0 * evidence.commanded,
            'added by others [%]': 100.0 * evidence.added,
            'seen to act [%]': 100.0 * evidence.acting})

    def _models(self) -> DiagnosticStatus:
        check = self._crosscheck
        level = ERROR if self._controller.conflict.startswith('cross-check') else OK
        message = 'the two models agree' if level is OK else self._controller.conflict
        return self._status('Cross-check', level, message, {
            'at configure [N m]': check.at_configure, 'while running [N m]': check.largest,
            'checks while running': check.checks})

    def _contact_status(self) -> DiagnosticStatus:
        watch, names = self._contact, self._controller.description.joint_names
        monitor = watch.monitor
        mass, unexplained = monitor.load_mass()
        level, message = OK, 'no contact'
        if not watch.effort_seen:
            message = 'not known: the joint states carry no measured effort'
        elif not monitor.settled:
            message = 'not known yet: too few joint states'
        elif monitor.in_contact and monitor.latest is not None:
            level, message = WARN, f'contact, felt first at {names[monitor.latest.joint]}'
        elif abs(mass) > LOAD_WARNING_KG:
            level = WARN
            message = (f'the arm seems to carry {mass:.2f} kg more than it was told, and may take '
                       'fast motion for contact; set payload, or check that the measured effort '
                       'contains gravity')
        pairs: dict[str, Any] = {
            'contact': monitor.in_contact, 'contacts': monitor.contacts,
            'largest share of threshold [%]': 100.0 * monitor.largest_share,
            'load at the flange [kg]': mass, 'load not explained by it [N m]': unexplained,
            'friction': 'subtracted' if watch.friction else 'not subtracted'}
        monitor.largest_share = 0.0
        if monitor.latest is not None:
            pairs.update({'latest began at [s]': f'{monitor.latest.stamp:.6f}',
                          'latest felt first at': names[monitor.latest.joint],
                          'latest peak [N m]': monitor.latest.peak})
        pairs.update({f'load torque, {name} [N m]': float(torque)
                      for name, torque in zip(names, monitor.load)})
        return self._status('Contact', level, message, pairs)

    def _arm(self) -> DiagnosticStatus:
        description = self._controller.description
        return self._status('Arm', OK, f'{description.name} ({description.inertial_set}, hand '
                            f'{description.hand})', {
                                f'torque limit, {joint.name} [N m]': float(joint.limits.effort)
                                for joint in description.joints})
