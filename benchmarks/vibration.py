# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Vibration of the simulated elastic arm beside a real one's, band by band.

    python benchmarks/vibration.py [--plot vibration.png]
    python benchmarks/vibration.py --second

The simulated arm follows the motion that was recorded on a real FER at 1 kHz
(FRANKA_DYNAMICS_RECORDINGS names the folder with fer_gaz2019_1khz), and the root mean square of
the measured torque in bands above the motion's own is compared. `--second` compares with another
real FER, recorded at 30 Hz in fer_excitation: at that rate all vibration folds down to below
15 Hz, and what can be compared is how much torque scatters from state to state.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from scipy import signal

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.recordings.recording import read_recording
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

BANDS = ((8, 15), (15, 25), (25, 40), (40, 60), (60, 100), (100, 200), (200, 450))
FER = load('fer')
STEP = 1e-3
KP = np.array([600.0] * 4 + [250.0, 150.0, 50.0])
KD = np.array([30.0] * 4 + [10.0, 10.0, 5.0])
# The recording's own floor above 200 Hz [N m], which no gear makes.
NOISE = {'position_noise': 1e-5, 'velocity_noise': 1e-3, 'effort_noise': 0.05}


def recorded(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return position and torque of the real arm at an even 1 kHz."""
    recording = read_recording(folder / 'fer_gaz2019_1khz', FER.joint_names)
    time = np.arange(0.0, recording.duration, STEP)
    return tuple(
        np.column_stack(
            [
                np.interp(time, recording.time, column)  # type: ignore
                for column in values.T
            ]
        )
        for values in (recording.q, recording.effort)
    )


def scatter(time: np.ndarray, q: np.ndarray, dq: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """Return the deviation of what the model leaves of a torque from state to state (n,) [N m]."""
    model = PinocchioModel(FER)
    assert FER.friction is not None
    acceleration = np.gradient(dq, time, axis=0)
    left = effort - model.inverse_dynamics(q, dq, acceleration) - FER.friction.torque(dq)
    # Second differences of white noise have six times its variance.
    moving = (np.abs(dq).max(axis=1) > 0.2)[1:-1]
    return np.asarray(np.diff(left, 2, axis=0)[moving].std(axis=0) / np.sqrt(6.0))


def second(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the scatter of the second real arm, and of the simulated one, elastic and rigid."""
    recording = read_recording(folder / 'fer_excitation', FER.joint_names)
    time = np.arange(0.0, recording.duration, STEP)
    q = np.column_stack([np.interp(time, recording.time, column) for column in recording.q.T])
    found = [scatter(recording.time, recording.q, recording.dq, recording.effort)]
    place = np.minimum((recording.time / STEP).astype(int), len(time) - 1)
    smooth = signal.sosfiltfilt(signal.butter(2, 5.0, fs=1.0 / STEP, output='sos'), q, axis=0)
    velocity = np.gradient(smooth, STEP, axis=0)
    for elastic in (True, False):
        effort = simulated(q, elastic=elastic)
        found.append(scatter(recording.time, smooth[place], velocity[place], effort[place]))
    return found[0], found[1], found[2]


def simulated(q: np.ndarray, *, elastic: bool) -> np.ndarray:
    """Return the torques that the simulated arm measures on a motion, under computed torque."""
    smooth = signal.sosfiltfilt(signal.butter(2, 5.0, fs=1.0 / STEP, output='sos'), q, axis=0)
    velocity = np.gradient(smooth, STEP, axis=0)
    acceleration = np.gradient(velocity, STEP, axis=0)
    arm = ArmSimulation(
        FER,
        SimulationSettings(
            start=smooth[0],
            friction=True,
            brake_release_after=0.0,
            elasticity=franka_elasticity(FER) if elastic else None,
            **NOISE,
        ),
    )
    model = PinocchioModel(FER)
    effort = []
    for position, speed, desired in zip(smooth, velocity, acceleration):
        reading = arm.read()
        feedback = KP * (position - reading.position) + KD * (speed - reading.velocity)
        torque = model.inverse_dynamics(position, speed, desired) + feedback
        assert FER.friction is not None
        arm.step(torque + FER.friction.torque(speed))
        effort.append(arm.read().effort)
    return np.array(effort)


def band_rms(effort: np.ndarray) -> np.ndarray:
    """Return the root mean square in each band, shape (bands, n) [N m]."""
    frequency, power = signal.welch(effort, 1.0 / STEP, nperseg=2048, axis=0)
    width = frequency[1] - frequency[0]
    return np.array(
        [
            np.sqrt(power[(frequency >= low) & (frequency < high)].sum(axis=0) * width)
            for low, high in BANDS
        ]
    )


def main() -> None:
    """Print the table and draw the spectra."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--plot', type=Path, metavar='FILE', help='draw the spectra')
    parser.add_argument('--second', action='store_true', help='compare with fer_excitation')
    arguments = parser.parse_args()
    folder = os.environ.get('FRANKA_DYNAMICS_RECORDINGS')
    if not folder or not (Path(folder) / 'fer_gaz2019_1khz').exists():
        parser.error('FRANKA_DYNAMICS_RECORDINGS must name a folder with fer_gaz2019_1khz')
    if arguments.second:
        print('scatter of measured torque at 30 Hz [N m]: joints 1 to 7')
        for name, values in zip(('real FER', 'elastic', 'rigid'), second(Path(folder))):
            print(f'{name:<10}' + ''.join(f'{value:8.3f}' for value in values))
        return
    q, real = recorded(Path(folder))
    efforts = {
        'real FER': real,
        'elastic': simulated(q, elastic=True),
        'rigid': simulated(q, elastic=False),
    }
    rms = {name: band_rms(effort) for name, effort in efforts.items()}
    print('rms of measured torque [N m] per band: ' + ' / '.join(rms))
    print('band [Hz]   ' + ''.join(f'joint {joint + 1:<16}' for joint in range(FER.n)))
    for place, (low, high) in enumerate(BANDS):
        cells = [
            ' / '.join(f'{values[place, joint]:.3f}' for values in rms.values())
            for joint in range(FER.n)
        ]
        print(f'{low:>3} to {high:<4} ' + ''.join(f'{cell:<22}' for cell in cells))
    inside = BANDS.index((8, 15)), BANDS.index((100, 200)) + 1
    ratio = rms['elastic'][slice(*inside), :6] / rms['real FER'][slice(*inside), :6]
    print(
        f'joints 1 to 6, 8 to 200 Hz: elastic / real between {ratio.min():.2f} and '
        f'{ratio.max():.2f}, median {np.median(ratio):.2f}'
    )
    if arguments.plot:
        draw(efforts, arguments.plot)


def draw(efforts: dict[str, np.ndarray], path: Path) -> None:
    """Draw the amplitude spectra of joints 1 to 6."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(13, 7), sharex=True, layout='constrained')
    for joint, axis in enumerate(axes.flat):
        for (name, effort), colour in zip(efforts.items(), ('black', 'tab:red', 'tab:blue')):
            frequency, power = signal.welch(effort[:, joint], 1.0 / STEP, nperseg=1024)
            axis.loglog(frequency[1:], np.sqrt(power[1:]), label=name, color=colour, lw=1)
        axis.set(title=f'joint {joint + 1}', xlim=(2, 500), ylim=(1e-4, 5))
        axis.grid(alpha=0.3, which='both')
    for axis in axes[1]:
        axis.set_xlabel('frequency [Hz]')
    for axis in axes[:, 0]:
        axis.set_ylabel('measured torque [N m / sqrt(Hz)]')
    axes[0, 0].legend()
    figure.savefig(path, dpi=110)


if __name__ == '__main__':
    main()
