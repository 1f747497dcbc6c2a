# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The external torque of a recording and the wrench at the flange, written to a CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..control.external_wrench import estimate_wrenches, WrenchEstimator
from ..dynamics.pinocchio_model import PinocchioModel
from ..files import atomic_write
from ..identification.replay_evaluation import ReplayEvaluation
from ..recordings.preprocessing import Motion
from ..typing import Array


def write_external_torque(output: Path, result: ReplayEvaluation, gravity: list[float]) -> str:
    """
    Write external torques and wrenches of a recording to a CSV file; return a sentence.

    The columns are those of `time` [s], `q`, `dq`, `external_torque` [N m] by joint, of
    `external_wrench` (force [N] and moment [N m] of the arm on its surroundings, at the flange,
    axes of the base), and the standard deviations of both. The torque is measured minus model
    torque, less the friction of the arm file. Lines that begin with # say what was compared. The
    sentence says the root mean square of the external torque.
    """
    recording, motion, best = result.recording, result.motion, result.fits[0]
    arm, torque, options = best.arm, motion.effort - best.predicted, motion.options
    estimator = WrenchEstimator(PinocchioModel(arm, gravity))
    columns = _columns(motion, torque, estimator)
    about = {
        'source': recording.source,
        'first_stamp_ns': recording.stamp_ns[0],
        'arm': f'{arm.name}, {arm.contents}, gravity {gravity} m/s^2',
        'friction': 'of the arm file, subtracted' if arm.friction else 'none subtracted',
        'joints': ' '.join(recording.joint_names),
        'signal': f'{options.rate:g} Hz, zero-phase low-pass at {options.cutoff:g} Hz',
    }
    names = [f'{name}{k}' for name, rows in columns.items() for k in range(1, 1 + rows.shape[1])]
    lines = [*(f'# {key}: {text}' for key, text in about.items()), ','.join(['time', *names])]
    with atomic_write(output) as scratch:
        table = np.column_stack([motion.time, *columns.values()])
        np.savetxt(scratch, table, '%.12g', ',', header='\n'.join(lines), comments='')
    size = ', '.join(f'{one:.2f}' for one in np.sqrt(np.mean(torque**2, axis=0)))
    normal = ', '.join(f'{one:.2f}' for one in estimator.torque_std)
    return (
        f'{output}: external torque, set {arm.inertial_set}, hand {arm.hand}; root mean '
        f'square {size} N m; an arm that nobody touches shows about {normal} N m'
    )


def _columns(motion: Motion, torque: Array, estimator: WrenchEstimator) -> dict[str, Array]:
    """Return the columns beside time, (N, n) or (N, 6) each, for external torques (N, n)."""
    wrench, wrench_deviation = estimate_wrenches(estimator, motion.q, torque)
    return {
        'q': motion.q,
        'dq': motion.dq,
        'external_torque': torque,
        'external_torque_deviation': np.tile(estimator.torque_std, (len(motion), 1)),
        'external_wrench': wrench,
        'external_wrench_deviation': wrench_deviation,
    }
