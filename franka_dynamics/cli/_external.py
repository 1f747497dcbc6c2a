# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`bag replay --external`: the external torque and wrench of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ._options import new_bag
from ._say import say
from .bag_verbs import ExternalTorque
from ..arm import ArmDescription
from ..control.external_wrench import wrenches_along, WrenchEstimator
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import OutputError
from ..files import complete_or_absent, writable_file
from ..recordings.log_file import library
from ..recordings.preprocessing import Motion
from ..recordings.recording import Recording, Wrenches, write_bag
from ..recordings.replay import ReplayFit
from ..typing import Array

Vector = tuple[float, float, float]


def external_path(text: str) -> Path:
    """Return --external as a path: a .csv or .h5 file, or the folder of a new bag."""
    suffix = Path(text).suffix.lower()
    if suffix not in ('', '.csv', '.h5'):
        raise OutputError(
            f'{text}: the name must end in .csv or .h5, or in nothing for a rosbag2.'
        )
    return writable_file(text) if suffix else new_bag(text)


def _write_table(path: Path, arrays: Mapping[str, Array], about: Mapping[str, str]) -> None:
    """
    Write arrays (N,) or (N, k) into an HDF5 file or a CSV file.

    In CSV an array (N,) is the column NAME, an array (N, k) the columns NAME1 to NAMEk.
    """
    if path.suffix.lower() == '.h5':
        with complete_or_absent(path) as scratch, library('h5py', path).File(scratch, 'w') as file:
            file.attrs.update(about)
            for name, array in arrays.items():
                file[name] = array
        return
    columns = {
        name if array.ndim == 1 else f'{name}{place}': column
        for name, array in arrays.items()
        for place, column in enumerate(array.reshape(len(array), -1).T, start=1)
    }
    lines = [*(f'# {name}: {text}' for name, text in about.items()), ','.join(columns)]
    table = np.column_stack(list(columns.values()))
    with complete_or_absent(path) as scratch:
        np.savetxt(scratch, table, '%.12g', ',', header='\n'.join(lines), comments='')


def write_external(
    given: ExternalTorque,
    output: Path,
    best: ReplayFit,
    recording: Recording,
    motion: Motion,
    gravity: Vector,
) -> None:
    """Write the file or bag, and print the root mean square of the external torque."""
    arm, torque = best.arm, motion.effort - best.predicted
    frame = int(given.frame) if given.frame.isdigit() else given.frame
    estimator = WrenchEstimator(PinocchioModel(arm, gravity), frame, given.tool_center)
    wrench, wrench_deviation = wrenches_along(estimator, motion.q, torque)
    about = _about(given, recording, motion, arm, gravity)
    torques = {
        'external_torque': torque,
        'external_torque_deviation': np.tile(estimator.deviation, (len(motion), 1)),
    }
    wrenches = {'external_wrench': wrench, 'external_wrench_deviation': wrench_deviation}
    if output.suffix:
        states = {'time': motion.time, 'q': motion.q, 'dq': motion.dq}
        _write_table(output, {**states, **torques, **wrenches}, about)
    else:
        _write_bag(output, recording, motion, torques, wrenches, about)
    size = ', '.join(f'{one:.2f}' for one in np.sqrt(np.mean(torque**2, axis=0)))
    normal = ', '.join(f'{one:.2f}' for one in estimator.deviation)
    say(
        f'{output}: external torque, set {arm.inertial_set}, hand {arm.hand}; root mean '
        f'square {size} N m; an arm that nobody touches shows about {normal} N m'
    )


def _about(
    given: ExternalTorque,
    recording: Recording,
    motion: Motion,
    arm: ArmDescription,
    gravity: Vector,
) -> dict[str, str]:
    """Return the metadata of the written file or bag: recording, arm, units, frames."""
    return {
        'source': recording.source,
        'first_stamp_ns': str(recording.stamp_ns[0]),
        'arm': f'{arm.name}, set {arm.inertial_set}',
        'hand': arm.hand,
        'payload': getattr(given, 'payload', None) or 'none',
        'friction': 'of the arm file, subtracted' if arm.friction else 'none subtracted',
        'gravity': ' '.join(f'{value:g}' for value in gravity),
        'joints': ' '.join(recording.joint_names),
        'signal': f'{motion.options.rate:g} Hz, zero-phase low-pass at '
        f'{motion.options.cutoff:g} Hz',
        'torque': 'measured minus model torque [N m], J^T times the wrench',
        'wrench': f'force [N] and moment [N m] that the arm exerts on its surroundings, axes '
        'of the base, at '
        f'{given.frame} + ({", ".join(f"{value:g}" for value in given.tool_center)}) m',
        'deviation': 'standard deviations. Torque: measured on two real FER that nobody '
        "touched, scaled by this arm's torque limits. Wrench: propagated from the torques",
    }


def _write_bag(
    path: Path,
    recording: Recording,
    motion: Motion,
    torques: Mapping[str, Array],
    wrenches: Mapping[str, Array],
    about: Mapping[str, str],
) -> None:
    """Write a bag: torques (N, n) as joint states, and wrenches (N, 6); keys name the topics."""
    stamp_ns = recording.stamp_ns[0] + np.round(motion.time * 1e9).astype(np.int64)
    names, q, dq = recording.joint_names, motion.q, motion.dq
    write_bag(
        path,
        [Recording('', f'/{k}', names, stamp_ns, q, dq, v) for k, v in torques.items()],
        [Wrenches(f'/{k}', 'base', stamp_ns, v) for k, v in wrenches.items()],
        about=about,
    )
