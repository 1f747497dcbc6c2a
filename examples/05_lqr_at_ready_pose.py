# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Design a linear-quadratic regulator from `linearize` and try it on the whole dynamics.

The arm starts 0.1 rad off the ready pose in every joint; Pinocchio's forward dynamics simulates
it, and the linear system predicts it. Run `python examples/05_lqr_at_ready_pose.py`; it takes a
few seconds and writes `lqr_at_ready_pose.png`. The torques include gravity: on a real FER or FR3,
which adds gravity itself, send tau - g.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_are

from franka_dynamics.arm import load
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import OutputError
from franka_dynamics.files import writable_file

DURATION = 2.0  # s
# Bryson's rule: what counts as a large error, and as a large torque.
POSITION, VELOCITY = 0.1, 1.0  # rad, rad/s
LIMIT = load('fer').limit('effort')  # N m
TORQUE = LIMIT / 6.0
OFFSET = 0.1  # rad


@dataclass(frozen=True)
class Trial:
    """Times (N,) [s]; errors of position, simulated and predicted, (N, 7) [rad]; tau [N m]."""

    times: np.ndarray
    simulated: np.ndarray
    predicted: np.ndarray
    torques: np.ndarray


def trial(offset: float = OFFSET) -> Trial:
    """Design, simulate and predict."""
    arm = load('fer')
    backend, n, home = PinocchioModel(arm), arm.n, arm.home
    hold = backend.gravity(home)
    here = linearize(BodyTree.from_description(arm), home, np.zeros(n), hold)
    weights = np.diag([POSITION**-2] * n + [VELOCITY**-2] * n)
    cost = np.diag(TORQUE**-2.0)
    riccati = solve_continuous_are(here.A, here.B, weights, cost)
    gain = np.linalg.solve(cost, here.B.T @ riccati)
    rest = np.concatenate((home, np.zeros(n)))

    def torque(x: np.ndarray) -> np.ndarray:
        return hold - gain @ (x - rest)

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate(
            (x[n:], pin.aba(backend.model, backend.data, x[:n], x[n:], torque(x)))
        )

    times = np.linspace(0.0, DURATION, 301)
    off = np.concatenate((np.full(n, offset), np.zeros(n)))
    simulated = solve_ivp(rate, times[[0, -1]], rest + off, t_eval=times, rtol=1e-8, atol=1e-10).y
    closed = here.A - here.B @ gain
    predicted = solve_ivp(
        lambda _, x: closed @ x, times[[0, -1]], off, t_eval=times, rtol=1e-8, atol=1e-10
    ).y
    return Trial(
        times,
        simulated.T[:, :n] - home,
        predicted.T[:, :n],
        np.array([torque(x) for x in simulated.T]),
    )


def draw(result: Trial, path: str) -> None:
    """Write errors and torques over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 4.5), layout='constrained')
    error, torque = figure.subplots(1, 2)
    for joint in range(7):
        (line,) = error.plot(result.times, result.simulated[:, joint], label=f'joint {joint + 1}')
        error.plot(
            result.times, result.predicted[:, joint], '--', color=line.get_color(), linewidth=0.9
        )
        torque.plot(result.times, result.torques[:, joint], color=line.get_color())
    error.set(
        xlabel='time [s]',
        ylabel='off the ready pose [rad]',
        title='simulated, and predicted by A and B (dashed)',
    )
    torque.set(xlabel='time [s]', ylabel='torque [N m]', title='gravity included')
    error.legend(ncols=2, fontsize='small')
    for axes in (error, torque):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    """Try the regulator, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--plot', default='lqr_at_ready_pose.png')
    arguments = parser.parse_args(argv)
    try:
        writable_file(arguments.plot)
    except OutputError as error:
        parser.error(f'{error}')
    print(f'a linear-quadratic regulator of the FER at its ready pose, {DURATION:g} s simulated')
    for offset in (OFFSET, OFFSET / 10.0):
        result = trial(offset)
        difference = np.abs(result.simulated - result.predicted).max()
        print(
            f'{offset:g} rad off: after {DURATION} s within '
            f'{np.abs(result.simulated[-1]).max():.1e} rad; the linear prediction is off by '
            f'{difference:.1e} rad at most ({difference / offset:.1%}); largest share of a '
            f'torque limit {np.abs(result.torques / LIMIT).max():.0%}'
        )
    draw(trial(), arguments.plot)
    print(f'written: {arguments.plot}')


if __name__ == '__main__':
    main()
