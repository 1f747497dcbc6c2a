# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics doctor`, which checks machine, robot model and running nodes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
import sys

from .choices import ArmChoice, forbid_options, forbid_without
from .console import echo, make_console, write_json
from .options import INERTIA_OPTION_NAMES
from ..arm.arm_file import is_urdf_or_mjcf
from ..constants import AS_LISTED, NO_HAND
from ..errors import FrankaDynamicsError
from ..ros import ROS_INSTALL_HINT
from ..ros.clients.machine_checks import (
    CheckResult,
    GOOD,
    machine_checks,
    NOTE,
    SIMULATOR_SUBJECT,
    TO_DO,
)
from ..validation.robot_model import (
    compare_with_robot,
    POSE_SUBJECT,
    read_robot_state_and_model,
)

_LEVEL_STYLES = {GOOD: 'green', NOTE: 'yellow', TO_DO: 'red'}
_LISTENING_TIME_S = 2.0  # time to listen to the running system


def check_system(
    choice: ArmChoice,
    robot: str | None,
    json: Path | None,
    topic: str,
    command: str | None,
    *,
    machine_only: bool,
) -> int:
    """Print one line per check of machine, robot and nodes; return 1 if a check needs action."""
    if robot is None:
        forbid_without('--robot', 'arm', 'joints', 'held', 'xacro', *INERTIA_OPTION_NAMES)
    if machine_only:
        forbid_options('--machine', 'topic', 'command')
    node_results = [] if machine_only else _running_node_checks(topic, command)
    simulated = any(check.subject == SIMULATOR_SUBJECT for check in node_results)
    machine_results = machine_checks(for_simulation=simulated)
    robot_results = [] if robot is None else _robot_checks(choice, robot)
    checks = [*machine_results, *robot_results, *node_results]
    write_json(json, checks)
    for check in checks:
        make_console().print(f'{check.level:5}', style=_LEVEL_STYLES[check.level], end=' ')
        echo(f'{check.subject}: {check.text}')
    return 1 if any(check.level == TO_DO for check in checks) else 0


def _robot_checks(choice: ArmChoice, robot_address: str) -> Iterator[CheckResult]:
    """Yield the results of comparing a robot at an address with an arm's model, by quantity."""
    arm = choice.load()
    # What a URDF holds cannot be taken off.
    hand = AS_LISTED if is_urdf_or_mjcf(choice.arm) else NO_HAND
    bare = replace(choice, hand=hand, payload=None).load()
    try:
        for result in compare_with_robot(*read_robot_state_and_model(robot_address), arm, bare):
            # A wrong pose has the level NOTE, because the flange pose that franka-sim serves
            # is 0.1 m off although its Jacobians are correct.
            wrong = NOTE if result.subject == POSE_SUBJECT else TO_DO
            level = GOOD if result.is_allowed else wrong
            hint = '' if result.is_allowed else '; check --arm, --set, --hand, --payload and Desk'
            yield CheckResult(f'robot, {result.subject}', level, result.sentence + hint)
    except FrankaDynamicsError as error:
        yield CheckResult('robot', TO_DO, str(error))


def _running_node_checks(state_topic: str, command_topic: str | None) -> list[CheckResult]:
    """Return the checks of the running nodes, or one that says why ROS 2 cannot be imported."""
    try:
        from ..ros.clients.system_checks import system_checks
    except ImportError as error:
        return [CheckResult('ROS 2', TO_DO, f'cannot be imported ({error}); {ROS_INSTALL_HINT}')]
    if sys.stdout.isatty():
        print(f'listening for {_LISTENING_TIME_S:g} s ...', file=sys.stderr)
    return list(system_checks(state_topic, command_topic, _LISTENING_TIME_S))
