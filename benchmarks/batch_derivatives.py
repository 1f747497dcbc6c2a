# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives and forward dynamics of batches beside Pinocchio's, on one thread, interleaved."""

import argparse
import platform
import time

import numpy as np
import pinocchio as pin

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

COUNT, LOOP = 8192, 1000


def main() -> None:
    """Print medians of the processor time of one state, and the ratios of each round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--arm', default='fer', help='a shipped arm or an arm file')
    parser.add_argument('--rounds', type=int, default=30)
    arguments = parser.parse_args()
    arm = load(arguments.arm)
    n, model, one = arm.n, BatchModel(arm, threads=1), PinocchioModel(arm)
    states = sample_states(arm, COUNT, seed=0)
    slopes, row = np.empty((COUNT, 3, n, n)), np.empty((COUNT, n))
    listed = [state for _, state in zip(range(LOOP), zip(*states))]

    def loop(function: object) -> None:
        for state in listed:
            function(one.model, one.data, *state)

    candidates = {
        'derivatives': (lambda: model.inverse_dynamics_derivatives(*states, slopes), COUNT),
        'derivatives, pin.computeRNEADerivatives in a loop': (
            lambda: loop(pin.computeRNEADerivatives),
            LOOP,
        ),
        'forward dynamics': (lambda: model.forward_dynamics(*states, row), COUNT),
        'forward dynamics, pin.aba in a loop': (lambda: loop(pin.aba), LOOP),
        'inverse dynamics': (lambda: model.inverse_dynamics(*states, row), COUNT),
    }
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(arguments.rounds + 1):  # the first one compiles
        for name, (call, count) in candidates.items():
            began = time.thread_time()
            call()
            times[name].append((time.thread_time() - began) / count * 1e9)
    measured = {name: np.array(values[1:]) for name, values in times.items()}
    print(
        f'{platform.processor() or platform.machine()}, {arguments.arm}, one thread, medians of '
        f'{arguments.rounds} rounds [ns of processor time a state]'
    )
    for name, values in measured.items():
        print(f'{np.median(values):9.1f}  {name}')
    loops = (
        measured['derivatives, pin.computeRNEADerivatives in a loop'],
        measured['forward dynamics, pin.aba in a loop'],
    )
    slope, ahead, inverse = (
        measured[what] for what in ('derivatives', 'forward dynamics', 'inverse dynamics')
    )
    print(f'{np.median(loops[0] / slope):9.1f}  times the loop of computeRNEADerivatives')
    print(f'{np.median(loops[1] / ahead):9.1f}  times the loop of aba')
    print(f'{np.median(slope / inverse):9.1f}  inverse dynamics take as long as derivatives')


if __name__ == '__main__':
    main()
