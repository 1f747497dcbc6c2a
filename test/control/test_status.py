# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's status: mode, reason, and how to make it command again."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.fault_latch import ClearedBy
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.errors import ReferenceRefusedError

from .closed_loop import commands_at_rest, enabled, FER

FCI = Settings(target='fci')
TRUSTED = 'wait until the states are trusted'
CLEAR = (
    'clear the fault once its cause is gone (`franka-dynamics node clear`, or the service '
    '~/clear_fault)'
)


@pytest.fixture
def controller():
    """Return a controller that commands an arm at rest."""
    controller = enabled(FCI)
    commands_at_rest(controller, 100)
    return controller


def test_before_the_first_state_the_status_says_what_is_missing():
    controller = FeedforwardController(FER, FCI)
    activate = 'silent: not activated; to command again: activate the node'
    assert str(controller.status()) == activate
    controller.enable()
    assert str(controller.status()) == (
        f'silent: waiting: no joint state has arrived yet; to command again: {TRUSTED}'
    )


def test_a_refused_activation_is_told_until_the_next_succeeds():
    controller = FeedforwardController(FER, FCI)
    controller.refuse_activation('somebody else commands')
    assert controller.status().reason == 'not activated: somebody else commands'
    controller.enable()
    controller.disable('deactivated')  # before any state came
    assert controller.status().reason == 'not activated'


def test_a_silent_controller_names_the_present_states_not_those_that_stopped_it(controller):
    assert str(controller.status()) == 'running: torques are published'
    controller.check_silence(2.0)
    status = controller.status()
    assert (status.mode, status.cleared_by, status.faulty) == (Mode.STOPPING, TRUSTED, False)
    assert 'no new joint state for' in status.reason
    while controller.stop_step(1e-3) is not None:
        pass
    commands_at_rest(controller, 40, begin=3.0, period=0.05)
    status = controller.status()
    assert (status.mode, status.cleared_by) == (Mode.SILENT, TRUSTED)
    assert status.reason.startswith('too_slow: joint states come at 20 Hz')
    commands_at_rest(controller, 100, begin=6.0)
    assert controller.status().mode is Mode.RUNNING


@pytest.mark.parametrize(
    ('until', 'way'),
    [
        (ClearedBy.ACKNOWLEDGEMENT, CLEAR),
        (ClearedBy.ACTIVATION, 'deactivate and activate the node'),
    ],
)
def test_a_fault_names_what_clears_it_and_only_that_does(controller, until, way):
    controller.latch_fault('too heavy', until)
    status = controller.status()
    assert (status.reason, status.cleared_by, status.faulty) == ('too heavy', way, True)
    # The first fault is reported; an equally grave one does not replace it.
    controller.latch_fault('another', until)
    assert controller.status().reason == 'too heavy'
    controller.apply(replace(FCI, kp=(5.0,)))  # nor does a change of settings clear it
    assert controller.status().faulty
    commands_at_rest(controller, 30, begin=1.1)  # until the arm has been braked
    assert controller.clear_fault()[0] == (until is ClearedBy.ACKNOWLEDGEMENT)
    if until is ClearedBy.ACTIVATION:
        controller.enable()
    assert not controller.status().faulty


def test_a_refused_reference_is_refused_by_the_status(controller):
    controller.latch_fault('too heavy', ClearedBy.CONFIGURATION)
    with pytest.raises(ReferenceRefusedError, match='too heavy; to command again: clean the nod'):
        controller.follow(FER.home)


def test_with_slow_states_a_trajectory_ends_when_it_is_accepted_and_a_set_point_is_refused():
    controller = enabled(FCI)
    commands_at_rest(controller, 60, begin=0.0, period=0.05)
    assert controller.status().reason.startswith('too_slow')
    with pytest.raises(ReferenceRefusedError, match='too_slow: joint states come at 20 Hz'):
        controller.follow(FER.home)
    assert not controller.reference.events
    controller.follow([FER.home], [2.0], mark='mine')
    accepted, ended = controller.reference.events
    assert [one.state.value for one in (accepted, ended)] == ['accepted', 'interrupted']
    assert (accepted.number, accepted.mark) == (ended.number, ended.mark) == (1, 'mine')
    assert 'joint states come at 20 Hz' in ended.reason
    np.testing.assert_array_equal(ended.goal, FER.home)
    assert ended.remaining > 1.9
    assert not controller.reference.active
