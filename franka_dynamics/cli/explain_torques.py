# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm explain`: which one parameter would explain a black box's torques."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
import zipfile

import numpy as np

from ._arm_options import add_arm_options, load_arm
from ._options import add_gravity_option, add_json_option
from ._say import terminal, write_json
from ..errors import RecordingError

if TYPE_CHECKING:
    from ..arm.sampling import JointStates

SUMMARY = 'Find the one parameter of an arm that would explain the torques of a black box.'
DEFAULT_ARM = 'fer'
GRAVITY = (0.0, 0.0, -9.81)
_SHOWN = 10
_ARRAYS = ('q', 'dq', 'ddq', 'tau')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'torques',
        type=Path,
        metavar='FILE',
        help="a NumPy .npz file with q, dq, ddq and the black box's answer tau, "
        'each of shape (count, n), without friction',
    )
    add_arm_options(parser, default=None, hand=None)
    add_gravity_option(parser, 'space')
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the best candidates in order; 1 if the torques are not the arm's."""
    from ._recording_options import progress_bar
    from ..validation.agreement import AGREEMENT
    from ..validation.fault_search import search_faults

    console = terminal()
    arguments.arm = arguments.arm or DEFAULT_ARM
    description = load_arm(arguments)
    states, torque = _read(arguments.torques)
    with progress_bar(console) as bar:
        task = bar.add_task('trying parameters', total=None)
        verdict = search_faults(
            description,
            states,
            torque,
            gravity=arguments.gravity or GRAVITY,
            progress=lambda: bar.advance(task),
        )
    console.print(
        f'{arguments.torques}: {len(torque)} states; the torques differ from '
        f'{description.name} ({description.inertial_set}, hand {description.hand}) by '
        f'{verdict.difference:.3g} N m rms.',
    )
    for place, candidate in enumerate(verdict.candidates[:_SHOWN], start=1):
        console.print(f'{place}. {candidate}')
    console.print(
        f'Of {verdict.parameters} parameters these torques show '
        f'{verdict.rank} combinations; they show nothing of '
        f'{", ".join(verdict.unidentifiable) or "none"}.',
    )
    for group in verdict.groups:
        console.print(
            f'Small changes of these are one to torque: {", ".join(group)}.',
        )
    if arguments.json:
        # Programs read the candidates under the name that they had at first.
        data = {
            'suspects' if name == 'candidates' else name: value
            for name, value in asdict(verdict).items()
        }
        write_json(arguments.json, data)
    scale = max(1.0, float(np.abs(torque).max()))
    return 0 if verdict.difference <= AGREEMENT * scale else 1


def _read(path: Path) -> tuple[JointStates, np.ndarray]:
    from ..arm.sampling import JointStates

    try:
        with np.load(path) as archive:
            missing = [name for name in _ARRAYS if name not in archive.files]
            if missing:
                raise RecordingError(
                    f'{path} has no array {", ".join(missing)}; it needs q, dq, ddq and tau, each '
                    'of shape (count, n).'
                )
            arrays = [np.asarray(archive[name], dtype=float) for name in _ARRAYS]
    except OSError as error:
        raise RecordingError(f'{path} cannot be read: {error.strerror}.') from error
    except (EOFError, TypeError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(
            f'{path} is no NumPy .npz file; write one with '
            'numpy.savez(FILE, q=q, dq=dq, ddq=ddq, tau=tau).'
        ) from error
    shapes = {name: array.shape for name, array in zip(_ARRAYS, arrays)}
    if len(set(shapes.values())) > 1 or arrays[0].ndim != 2 or not len(arrays[0]):
        listed = ', '.join(f'{name} {shape}' for name, shape in shapes.items())
        raise RecordingError(
            f'{path}: q, dq, ddq and tau must have one shape (count, n), at '
            f'least one state; they have {listed}.'
        )
    return JointStates(*arrays[:3]), arrays[3]
