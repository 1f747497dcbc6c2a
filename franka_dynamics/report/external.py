# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The external torque and wrench of a recording, written to a table or a bag."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..control.external_wrench import estimate_wrenches, WrenchEstimator
from ..files import atomic_write
from ..identification.replay_evaluation import ReplayEvaluation
from ..recordings.log_file import import_library
from ..recordings.recording import Recording, Wrenches, write_bag
from ..typing import Array


def write_external_torque(
    output: Path, result: ReplayEvaluation, estimator: WrenchEstimator, about: Mapping[str, str]
) -> str:
    """
    Write external torques and wrenches of a recording to a table or bag; return a sentence.

    The sentence says the root mean square of the external torque. `about` describes payload,
    gravity and wrench, for the header of the file.
    """
    recording, motion, best = result.recording, result.motion, result.fits[0]
    arm, torque = best.arm, motion.effort - best.predicted
    wrench, wrench_deviation = estimate_wrenches(estimator, motion.q, torque)
    deviation = np.tile(estimator.torque_std, (len(motion), 1))
    torques = {'external_torque': torque, 'external_torque_deviation': deviation}
    wrenches = {'external_wrench': wrench, 'external_wrench_deviation': wrench_deviation}
    options = motion.options
    about = {
        **about,
        'source': recording.source,
        'first_stamp_ns': str(recording.stamp_ns[0]),
        'arm': f'{arm.name}, set {arm.inertial_set}',
        'hand': arm.hand,
        'friction': 'of the arm file, subtracted' if arm.friction else 'none subtracted',
        'joints': ' '.join(recording.joint_names),
        'signal': f'{options.rate:g} Hz, zero-phase low-pass at {options.cutoff:g} Hz',
        'torque': 'measured minus model torque [N m], J^T times the wrench',
        'deviation': 'standard deviations. Torque: measured on two real FER that nobody '
        "touched, scaled by this arm's torque limits. Wrench: propagated from the torques",
    }
    if output.suffix:
        states = {'time': motion.time, 'q': motion.q, 'dq': motion.dq}
        _write_table(output, {**states, **torques, **wrenches}, about)
    else:
        stamp_ns = recording.stamp_ns[0] + np.round(motion.time * 1e9).astype(np.int64)
        names, q, dq = recording.joint_names, motion.q, motion.dq
        write_bag(
            output,
            [Recording('', f'/{k}', names, stamp_ns, q, dq, rows) for k, rows in torques.items()],
            [Wrenches(f'/{k}', 'base', stamp_ns, rows) for k, rows in wrenches.items()],
            about=about,
        )
    size = ', '.join(f'{one:.2f}' for one in np.sqrt(np.mean(torque**2, axis=0)))
    normal = ', '.join(f'{one:.2f}' for one in estimator.torque_std)
    return (
        f'{output}: external torque, set {arm.inertial_set}, hand {arm.hand}; root mean '
        f'square {size} N m; an arm that nobody touches shows about {normal} N m'
    )


def _write_table(path: Path, arrays: Mapping[str, Array], about: Mapping[str, str]) -> None:
    """
    Write arrays (N,) or (N, k) into an HDF5 file or a CSV file.

    In CSV an array (N,) is the column NAME, an array (N, k) the columns NAME1 to NAMEk.
    """
    with atomic_write(path) as scratch:
        if path.suffix.lower() == '.h5':
            with import_library('h5py', path).File(scratch, 'w') as file:
                file.attrs.update(about)
                for name, array in arrays.items():
                    file[name] = array
            return
        names = [
            name if array.ndim == 1 else f'{name}{place}'
            for name, array in arrays.items()
            for place in range(1, 1 + array[0].size)
        ]
        lines = [*(f'# {name}: {text}' for name, text in about.items()), ','.join(names)]
        table = np.column_stack(list(arrays.values()))
        np.savetxt(scratch, table, '%.12g', ',', header='\n'.join(lines), comments='')
