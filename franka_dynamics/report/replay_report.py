# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a replay as data for JSON and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..identification.recording import Recording
from ..identification.replay import Errors, Fit, judge_hand
from ..identification.signal_processing import Motion


def replay_as_data(recording: Recording, motion: Motion, fits: Sequence[Fit],
                   suspicions: Sequence[str]) -> dict[str, Any]:
    """Return all figures of a replay in types that JSON has; torques in N m, times in s."""
    return {
        'bag': recording.source,
        'topic': recording.topic,
        'joint_names': list(recording.joint_names),
        'messages': len(recording),
        'duration': recording.duration,
        'samples': len(motion),
        'metric': {'name': 'E = sqrt(mean |tau_measured - tau_model|^2)',
                   **asdict(motion.options)},
        'arm': fits[0].arm.name,
        'arm_file': fits[0].arm.file,
        'fits': [_fit_as_data(one) for one in fits],
        'best': {'inertial_set': fits[0].arm.inertial_set, 'hand': fits[0].arm.hand},
        'hand': judge_hand(fits),
        'suspicions': list(suspicions),
        'remarks': list(motion.remarks),
    }


def _fit_as_data(one: Fit) -> dict[str, Any]:
    def errors(figures: Errors) -> dict[str, Any]:
        return {'E': figures.whole, 'joints': figures.joints.tolist()}
    return {
        'inertial_set': one.arm.inertial_set,
        'hand': one.arm.hand,
        'as_listed': one.as_listed,
        'physical': not one.arm.inconsistencies(),
        'filtered': errors(one.filtered),
        'unfiltered': errors(one.unfiltered),
        'with_friction': None if one.with_friction is None else errors(one.with_friction),
    }


def replay_table(fits: Sequence[Fit]) -> Any:
    """Return a rich table of every candidate's E [N m], best first."""
    from rich.table import Table

    table = Table(title='E over the whole vector [N m] (* hand as published)',
                  title_justify='left')
    table.add_column('inertial set', no_wrap=True)
    table.add_column('hand', no_wrap=True)
    friction = any(one.with_friction is not None for one in fits)
    for heading in ('E', 'unfiltered', *(['friction'] if friction else [])):
        table.add_column(heading, justify='right')
    for one in fits:
        rubbed = '' if one.with_friction is None else f'{one.with_friction.whole:.3f}'
        table.add_row(
            one.arm.inertial_set, one.arm.hand + ('*' if one.as_listed else ''),
            f'[bold]{one.filtered.whole:.3f}[/]', f'{one.unfiltered.whole:.3f}',
            *([rubbed] if friction else []))
    return table


def joint_table(fits: Sequence[Fit], joint_names: Sequence[str]) -> Any:
    """Return a rich table of every candidate's error per joint, filtered and unfiltered."""
    from rich.table import Table

    table = Table(title=f'root mean square per joint [N m], {joint_names[0]} to '
                  f'{joint_names[-1]}: filtered, below it unfiltered effort', title_justify='left')
    table.add_column('set, hand', overflow='fold')
    for number in range(1, len(joint_names) + 1):
        table.add_column(str(number), justify='right', no_wrap=True)
    for one in fits:
        pairs = zip(one.filtered.joints, one.unfiltered.joints)
        table.add_row(one.name, *(f'{filtered:.2f}\n[dim]{unfiltered:.2f}[/]'
                                  for filtered, unfiltered in pairs))
    return table
