# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The level of the status Command, while torques are sent, before that and after a stop."""

from unittest.mock import Mock

from franka_dynamics.control.settings import Settings
from franka_dynamics.ros import diagnostics
from franka_dynamics.ros.term_publishers import TermPublishers

from ..control.closed_loop import Loop


def command(controller):
    """Return the level and the message of the status Command."""
    node = Mock()
    node.get_fully_qualified_name.return_value = '/feedforward'
    node.get_publishers_info_by_topic.return_value = []
    node.create_lifecycle_publisher.return_value.get_subscription_count.return_value = 0
    told = diagnostics.FeedforwardDiagnostics(node, '/command')
    terms = TermPublishers(node)
    terms.use(controller)
    told.use(controller, terms, 0.0)
    status = told._command()
    return status.level, status.message


def test_torques_that_fit_are_ok_and_none_is_a_warning_until_the_guard_holds_the_arm():
    loop = Loop()
    assert command(loop.controller) == (diagnostics.WARN, str(loop.controller.status))
    loop.run(1.5)
    assert command(loop.controller) == (diagnostics.OK, 'torques are sent')
    loop.controller.unexplained.largest[3] = 0.9
    level, said = command(loop.controller)
    assert level == diagnostics.WARN and 'joint4' in said
    assert command(loop.controller) == (diagnostics.OK, 'torques are sent')  # one warning
    loop.controller.stop('deactivated')
    assert command(loop.controller) == (diagnostics.WARN, str(loop.controller.status))
    held = Loop(Settings(target='fci'), measures=False, brake_release_after=0.0).run(0.6)
    assert held.controller.faulty
    assert command(held.controller) == (
        diagnostics.ERROR,
        str(diagnostics.status_of(held.controller)),
    )
