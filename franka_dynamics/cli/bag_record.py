# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics bag record`, which records a running system and checks the bag."""

from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from rich.text import Text

from .choices import ArmChoice, was_option_given
from .console import echo, echo_each, make_console
from .end_signals import catch_end_signals
from .requests import RecordRequest
from ..arm.arm_file import is_urdf_or_mjcf
from ..constants import AS_LISTED
from ..errors import FrankaDynamicsError
from ..recordings.plausibility import plausibility_warnings
from ..recordings.preprocessing import to_motion
from ..recordings.recording import read_recording
from ..ros.clients.node_client import NodeClient
from ..ros.clients.recording_session import PlayMotion, record_bag, RecordingProgress

_MAX_SLOWDOWN_RATIO = 20.0  # simulated time may be slower than the clock by this factor
_MAX_REST_MOTION_RAD = 0.02  # more than noise and drift of a held arm's positions [rad]
_DISCOVERY_TIMEOUT_S = 5.0  # discovery of publishers may take this long on a busy machine
_FIRST_STATE_TIMEOUT_S = 20.0  # a recording with a motion ends without a joint state
_OTHER_ARM_TIMEOUT_S = 2.0  # recording ends if joint states are another arm's alone for this time


def record_and_check(
    choice: ArmChoice,
    request: RecordRequest,
    motion_name: str = '',
    play_motion: PlayMotion | None = None,
) -> int:
    """
    Record and check a bag; return 1 if it is unusable or the motion to record failed.

    `play_motion` plays the motion as soon as the arm is heard, and the recording ends with it.
    """
    arm = choice.load()
    bag = request.output or Path(datetime.now().strftime('recording-%Y%m%d-%H%M%S'))
    # Only a closed bag has an index, so Ctrl-C ends the recording loop, not the process.
    status = make_console().status('')
    with catch_end_signals() as keep_running, status as status_line:

        def should_continue(progress: RecordingProgress) -> bool:
            """Show the progress; return whether to go on recording."""
            status_line.update(Text(f'recording {bag}: {progress}; Ctrl-C ends'))
            if _is_only_another_arm_heard(progress):
                return False
            if play_motion is not None and _is_arm_of_motion_unseen(progress):
                return False
            return keep_running() and not _is_recording_over(request.duration, progress)

        progress = record_bag(
            bag,
            arm.joint_names,
            request.topic,
            request.command,
            request.node,
            should_continue,
            play_motion,
        )
    if progress.motion_end_text:
        echo(f'{motion_name}: {progress.motion_end_text}')
    if play_motion is None and progress.node_name:
        choice = arm_choice_with_node_values(choice, progress.node_name)
    is_usable = _check_recording(choice, bag, progress, motion_name)
    failure = progress.motion_error
    if failure is not None:
        echo(
            f'{motion_name} was not played to its end: {str(failure) or "interrupted"}',
            'error',
        )
    return 0 if is_usable and failure is None else 1


def _is_only_another_arm_heard(progress: RecordingProgress) -> bool:
    """
    Return whether joint states come for long enough, but none of this arm.

    Then the recording ends, and `_check_recording` names the joints of both arms.
    """
    return not progress.has_arm_state and progress.first_state_age > _OTHER_ARM_TIMEOUT_S


def _is_arm_of_motion_unseen(progress: RecordingProgress) -> bool:
    """Return whether no joint state has come in time: then the motion must not be sent."""
    return progress.state_count == 0 and progress.elapsed > _FIRST_STATE_TIMEOUT_S


def _is_recording_over(duration: float | None, progress: RecordingProgress) -> bool:
    """
    Return whether stamps span --duration or the time-out has passed; False without --duration.

    The wait is _MAX_SLOWDOWN_RATIO times --duration by the clock; without any states it is
    --duration, but at least _DISCOVERY_TIMEOUT_S.
    """
    if duration is None:
        return False
    is_heard = progress.state_count > 0
    timeout = _MAX_SLOWDOWN_RATIO * duration if is_heard else max(_DISCOVERY_TIMEOUT_S, duration)
    return progress.stamp_span >= duration or progress.elapsed > timeout


def arm_choice_of_node(client: NodeClient) -> ArmChoice:
    """Return options that select the arm of a running node, from the node's parameters."""
    names = ('robot_type', 'hand', 'inertial_set', 'arm_prefix', 'payload')
    robot_type, hand, inertial_set, prefix, payload_values = client.parameter_values(names)
    payload = None
    if any(payload_values):
        payload = ','.join(f'{value:.12g}' for value in payload_values)
    return ArmChoice(
        robot_type,
        hand=hand or AS_LISTED,
        inertial_set=inertial_set or None,
        payload=payload,
        prefix=prefix,
    )


def arm_choice_with_node_values(choice: ArmChoice, node_name: str) -> ArmChoice:
    """
    Fill the options that the user did not give with the values of the running node.

    The choice stays as it is if the node does not answer or has other joints, and for a URDF or
    MJCF, which has one inertial set and keeps its hand.
    """
    if is_urdf_or_mjcf(choice.arm):
        return choice
    try:
        with NodeClient(node_name) as client:
            node_choice = arm_choice_of_node(client)
        if node_choice.load().joint_names != choice.load().joint_names:
            return choice
        defaulted = [field.name for field in fields(choice) if not was_option_given(field.name)]
        merged = replace(choice, **{name: getattr(node_choice, name) for name in defaulted})
        title = merged.title(merged.load())
    except FrankaDynamicsError:
        # It has gone, or its file is on another machine, or the user's arm lacks the node's set.
        return choice
    if merged != choice:
        echo(f'{node_name} has {title}', 'note')
    return merged


def _check_recording(
    choice: ArmChoice, bag: Path, progress: RecordingProgress, motion_name: str
) -> bool:
    """Read a recorded bag; print and return whether replay and identify can use it."""
    arm = choice.load()
    if progress.disk_is_full:
        echo(f'the disk of {bag} is full, so that the recording ends there', 'warning')
    if progress.state_count == 0:
        echo(
            f'not usable: nothing came on {progress.state_topic} in {progress.elapsed:.1f} s; is '
            'a driver running, in this ROS_DOMAIN_ID? `franka-dynamics doctor` says who publishes.'
        )
        return False
    count = f'{bag}: {progress.state_count} joint states, {progress.state_rate:.0f} Hz'
    echo(f'{count}, {progress.elapsed:.1f} s by the clock, {progress.stamp_span:.1f} s of stamps')
    try:
        recording = read_recording(bag, arm.joint_names, topic=progress.state_topic)
        warnings = plausibility_warnings(recording, arm)
        prepared = to_motion(recording)
    except FrankaDynamicsError as error:
        echo(f'not usable: {error}')
        return False
    moved = float(np.ptp(recording.q, axis=0).max())
    if motion_name and moved < _MAX_REST_MOTION_RAD:
        echo(
            f'not usable: no joint moved by more than {moved:.2g} rad, although {motion_name} was '
            'sent; see `franka-dynamics node state`, and if the effort controller is active.'
        )
        return False
    echo_each(warnings, 'warning')
    echo_each((*prepared.remarks, *progress.problems), 'note')
    quality = 'doubtful' if warnings else 'usable'
    echo(f'{quality}: {len(prepared)} samples at {prepared.options.rate:g} Hz')
    return True
