# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files and docs/reference/parameters.md, generated from config/parameters."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from .parameters import constraints, NODES, ParameterSpec, table
from ..control.settings import TargetProfile, TARGETS

GENERATOR = 'franka-dynamics node defaults --all .'
_LICENSE = '# Copyright 2026 The franka_dynamics authors\n# SPDX-License-Identifier: Apache-2.0\n'
_COMMENT_WIDTH = 95

_NOBODY_ELSE = (
    'Nobody else closes a loop around the arm, so weak gains do; they are stable with '
    'torques that are held as long as state_timeout{}. No real arm is there to be '
    'protected, so that an error of tracking and a stop do not latch.'
)
# Of simulated arms: a process that waits 200 ms for a processor is to end nothing, nor one that
# gets to read only some of a simulation's states. The merged topic of 30 Hz is still too slow.
_SIMULATED = {
    'default_gains': True,
    'min_input_rate': 50.0,
    'state_timeout': 0.21,
    'max_state_age': 0.0,
    'max_tracking_error': [0.0],
    'max_restarts': 1000,
}
# Gazebo does not wait for commands. States that are all as old as this leave the loop stable;
# the delay margin of the default gains is 0.106 s at least.
_IN_GAZEBO = {**_SIMULATED, 'use_sim_time': True, 'max_state_age': 0.1}
_OLD_STATES = ', and with states that are all as old as max_state_age'
# What a target needs besides its name, and why.
_TARGET_PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    'fci': (
        "The joint states must be the robot's full-rate stream: in franka_ros2 "
        'franka/joint_states, not the merged joint_states at 30 Hz.',
        {},
    ),
    'franka_gazebo': (
        "franka_ros2's Gazebo, whose plugin adds gravity. Stamps are simulated "
        f'time. {_NOBODY_ELSE.format(_OLD_STATES)}',
        _IN_GAZEBO,
    ),
    'gz_ros2_control': (
        'Any Gazebo, with ros2_control or without. Stamps are simulated time. '
        f'{_NOBODY_ELSE.format(_OLD_STATES)}',
        _IN_GAZEBO,
    ),
    'mujoco': (
        'The simulated arm of this package. On a busy computer it pauses and its stamps '
        "fall behind the clock, as no real arm's do; neither is to end a run. "
        f'{_NOBODY_ELSE.format("")}',
        _SIMULATED,
    ),
}


def generated_files() -> dict[str, str]:
    """Return every generated file: path in the source tree to text."""
    files = {
        f'config/feedforward/{name}.yaml': target_file(profile)
        for name, profile in TARGETS.items()
    }
    for node in NODES:
        files[f'config/{node}/default.yaml'] = parameter_file(node)
    files['docs/reference/parameters.md'] = page()
    return files


def parameter_file(node: str) -> str:
    """Return a node's complete parameter file: each parameter with its default, explained."""
    lines = _head(
        f'Every parameter of the {node} node with its default, to be copied and edited. '
        'Lines that keep a default may go.'
    )
    groups: list[str] = []
    for spec in table(node):
        *group, name = spec.name.split('.')
        if group != groups:
            lines.extend(f'{_indent(depth)}{part}:' for depth, part in enumerate(group))
            groups = group
        lines += _comment(f'{spec.sentence} {_note(spec)}', _indent(len(group)))
        lines.append(f'{_indent(len(group))}{name}: {as_yaml(spec.default)}')
    return '\n'.join(lines) + '\n'


def target_file(profile: TargetProfile) -> str:
    """Return the parameters by which the feedforward node serves one target."""
    sentence, parameters = _TARGET_PARAMETERS[profile.name]
    gravity = 'the receiver' if profile.receiver_adds_gravity else 'this node'
    friction = (
        'the receiver'
        if profile.receiver_adds_friction
        else 'nobody, unless terms.friction is set'
    )
    lines = _head(
        f'The feedforward node for target {profile.name}. Gravity is compensated by '
        f'{gravity}, friction by {friction}. {sentence} All other parameters keep their '
        'defaults; default.yaml lists them.'
    )
    lines += [
        f'{_indent(0)}{name}: {as_yaml(value)}'
        for name, value in {'target': profile.name, **parameters}.items()
    ]
    return '\n'.join(lines) + '\n'


def page() -> str:
    """Return the page that documents all parameters."""
    parts = [_HEAD]
    for node in NODES:
        parts.append(
            f'\n## {node}\nExecutable `{node}_node`, complete file '
            f'`config/{node}/default.yaml`.\n\n'
            '| parameter | type | default | allowed | meaning |\n'
            '|---|---|---|---|---|\n' + ''.join(_row(spec) for spec in table(node))
        )
    return ''.join(parts)


def as_yaml(value: Any) -> str:
    """Return a value as it is written in a parameter file, on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=float('inf'))
    return text.removesuffix('\n').removesuffix('\n...')


def _head(text: str) -> list[str]:
    return [
        _LICENSE,
        *_comment(text, ''),
        f'# Generated by: {GENERATOR}',
        '/**:',
        '  ros__parameters:',
    ]


def _row(spec: ParameterSpec) -> str:
    live = (
        ''
        if spec.read_only
        else ' May be changed while the node is inactive.'
        if spec.while_inactive
        else ' May be changed while the node runs.'
    )
    cells = (
        f'`{spec.name}`',
        spec.kind,
        f'`{as_yaml(spec.default)}`',
        constraints(spec),
        spec.sentence + live,
    )
    return '| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |\n'


def _note(spec: ParameterSpec) -> str:
    """Return type, range and changeability in brackets."""
    bounds = constraints(spec)
    changeable = (
        ''
        if spec.read_only
        else 'may be changed while inactive'
        if spec.while_inactive
        else 'may be changed while running'
    )
    parts = [spec.kind, bounds, changeable]
    return f'({"; ".join(part for part in parts if part)})'


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        _COMMENT_WIDTH,
        initial_indent=f'{indent}# ',
        subsequent_indent=f'{indent}# ',
        break_on_hyphens=False,
    )


def _indent(groups: int) -> str:
    return '  ' * (groups + 2)


_HEAD = f"""\
# Parameters

Generated by `{GENERATOR}` from `config/parameters`, which declares them.

Give them in a file (`--ros-args --params-file FILE`, or `params_file:=FILE` to the launch files),
one by one (`--ros-args -p target:=mujoco`), or, where the meaning says so, while the node runs
(`ros2 param set /feedforward scale 0.5`). `franka-dynamics node defaults feedforward`
prints a complete file to start from; `config/feedforward/` holds one per target.

- A parameter that does not exist, a value of another type or outside its range, an unreadable
  file, and a file without a section for the node are refused with one sentence, and nothing is
  started. Name the section `/**:` unless several nodes share the file: a section `feedforward:`
  does not reach a node in a namespace.
- ROS tells decimals from integers: write `1.0` for a double.
- `use_sim_time` and `qos_overrides.*` are ROS's own. Topics of these nodes can be given other
  depths and reliabilities, as in `qos_overrides./joint_states.subscription.reliability: reliable`.
- Without "may be changed", a value is fixed when the node starts; what may be changed while the
  node is inactive is read when it is activated.
- Changes that belong together are all made, or none, by `franka-dynamics node load
  /feedforward FILE`, which is one `set_parameters_atomically` call and also takes what `ros2 param
  dump /feedforward` printed. `ros2 param load` sets one parameter after the other: a file that is
  refused half-way is half in use, and every read-only parameter in it counts as a failure.
- Ranges are in the parameters' descriptors as well, so that `rqt_reconfigure` shows sliders.
- `start_type_description_service` is ROS's own and read-only: whether `~/get_type_description` is
  offered.
"""
