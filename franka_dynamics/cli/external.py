# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag external`: the external torque and wrench of a recording."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._arm_options import add_hand_option, load_arm
from ._options import add_gravity_option, output_file, output_folder
from ._recording_options import (
    add_recording_options,
    progress_bar,
    read_from_options,
    signal_options,
)
from ._say import say, terminal
from ..errors import OutputError

SUMMARY = 'Write the external torque and wrench of a recording: a bag, CSV, HDF5 or parquet.'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('bag', metavar='BAG', help='a rosbag2 folder, or one bag file')
    parser.add_argument(
        '--output',
        type=_output,
        required=True,
        metavar='PATH',
        help='a .csv, .h5, .hdf5 or .parquet file, or the folder of a new rosbag2',
    )
    add_recording_options(parser)
    parser.add_argument(
        '--set',
        dest='inertial_set',
        metavar='SET',
        help="the arm's inertial set (default: the arm file's own)",
    )
    add_hand_option(parser)
    add_gravity_option(parser, 'base', default=(0.0, 0.0, -9.81))
    parser.add_argument(
        '--frame',
        default='flange',
        metavar='FRAME',
        help="where the wrench acts: 'flange' or a joint's number (default: %(default)s)",
    )
    parser.add_argument(
        '--tool-center',
        type=float,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=('X', 'Y', 'Z'),
        help='where it acts in that frame [m] (default: 0 0 0)',
    )
    parser.add_argument(
        '--effort-scale',
        type=float,
        nargs='+',
        metavar='NM_PER_UNIT',
        help='what one unit of effort is, for all joints or joint by joint, where it is no N m',
    )


def _output(text: str) -> Path:
    """Return the path of a table, or of the folder of a bag."""
    return output_file(text) if Path(text).suffix else output_folder(text)


def run(arguments: argparse.Namespace) -> int:
    """Write what was asked for; say how large the torque is and what it rests on."""
    import numpy as np

    from ..control.external_wrench import wrenches_along, WrenchEstimator
    from ..dynamics.pinocchio_model import PinocchioModel
    from ..recordings.log_file import write_log, WRITTEN
    from ..recordings.plausibility import suspicions
    from ..recordings.preprocessing import prepare
    from ..recordings.recording import Recording, Wrenches, write_bag
    from ..recordings.replay import fit, friction_column

    output, console, arm = arguments.output, terminal(), load_arm(arguments)
    if output.suffix and output.suffix.lower() not in WRITTEN:
        raise OutputError(
            f'{output}: the name must end in {", ".join(WRITTEN)}, or in nothing for a rosbag2.'
        )
    frame = int(arguments.frame) if arguments.frame.isdigit() else arguments.frame
    model = PinocchioModel(arm, arguments.gravity)
    estimator = WrenchEstimator(model, frame, arguments.tool_center)
    with progress_bar(console) as bar:
        recording = read_from_options(arguments, arm, bar)
        if arguments.effort_scale is not None:
            recording = recording.scaled(arguments.effort_scale)
        warnings = suspicions(recording, arm, gravity=arguments.gravity)
        signal = signal_options(arguments)
        motion = prepare(recording, signal, columns=friction_column(arm.friction))
        torque = motion.effort - fit(arm, motion, gravity=arguments.gravity).predicted
        wrench, wrench_deviation = wrenches_along(estimator, motion.q, torque)
    stamp_ns = recording.stamp_ns[0] + np.round(motion.time * 1e9).astype(np.int64)
    payload = arguments.payload or 'none'
    about = {
        'source': recording.source,
        'first_stamp_ns': str(recording.stamp_ns[0]),
        'arm': f'{arm.name}, set {arm.inertial_set}',
        'hand': arm.hand,
        'payload': payload,
        'friction': 'of the arm file, taken out' if arm.friction is not None else 'none taken out',
        'gravity': ' '.join(f'{value:g}' for value in arguments.gravity),
        'joints': ' '.join(recording.joint_names),
        'signal': f'{signal.rate:g} Hz, zero-phase low-pass at {signal.cutoff:g} Hz',
        'torque': 'measured - model [N m]: what the arm exerts on its surroundings, J^T wrench',
        'wrench': f'force [N] and moment [N m] that the arm exerts, axes of the base, at '
        f'{arguments.frame} + ({", ".join(f"{value:g}" for value in arguments.tool_center)}) m',
        'deviation': 'standard deviations: of the torque those of two real FER that nobody '
        'touched, scaled by torque limits; of the wrench what follows from them',
    }
    deviation = np.tile(estimator.deviation, (len(motion), 1))
    if output.suffix:
        arrays = {
            'time': motion.time,
            'q': motion.q,
            'dq': motion.dq,
            'external_torque': torque,
            'external_torque_deviation': deviation,
            'external_wrench': wrench,
            'external_wrench_deviation': wrench_deviation,
        }
        write_log(output, arrays, about)
    else:
        names = recording.joint_names
        states = [
            Recording('', topic, names, stamp_ns, motion.q, motion.dq, values)
            for topic, values in (
                ('/external_torque', torque),
                ('/external_torque_deviation', deviation),
            )
        ]
        wrenches = [
            Wrenches('/external_wrench', 'base', stamp_ns, wrench),
            Wrenches('/external_wrench_deviation', 'base', stamp_ns, wrench_deviation),
        ]
        write_bag(output, states, wrenches, about=about)
    for sentence in (*motion.remarks, *recording.remarks):
        say(console, sentence, 'note')
    for sentence in warnings:
        say(console, sentence, 'warning')
    size = np.sqrt(np.mean(torque**2, axis=0))
    say(
        console,
        f'{output}: {len(motion)} samples of {arm.name} ({arm.inertial_set}, hand {arm.hand}, '
        f'payload {payload}); external torque, root mean square '
        f'{", ".join(f"{value:.2f}" for value in size)} N m, of which '
        f'{", ".join(f"{value:.2f}" for value in estimator.deviation)} N m are seen where nobody '
        'touches an arm',
    )
    return 0
