#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A payload's mass and centre of mass from torques at rest, by gradients in JAX.

Pinocchio computes the torques of an arm with a load that the fit does not know, and noise is
added. In the fit the load's torque is the gradient of the load's potential energy, which JAX
differentiates through the flange's pose; JAX also differentiates the residual torque by the four
unknowns.
"""

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[jax]'") from None

import franka_dynamics as fd
from franka_dynamics.batch.batch_model import BatchModel

LOAD = (0.73, 0.01, -0.02, 0.06)  # [kg, m, m, m] in the flange frame
NAMES = ('mass [kg]', 'x [m]', 'y [m]', 'z [m]')
NOISE = 0.05  # [N m]
POSES = 100
SEED = 0


def fit(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (mass, x, y, z) and approximate standard deviations from `count` poses at rest."""
    jax.config.update('jax_enable_x64', True)
    arm = fd.load('fer')
    q = fd.sample_states(arm, count, seed=seed).q
    body = fd.LinkInertia.from_center_of_mass(LOAD[0], LOAD[1:], 1e-3 * np.eye(3))
    loaded = fd.Model(arm.with_payload(body))
    noise = NOISE * np.random.default_rng(seed).standard_normal(q.shape)
    measured = loaded.gravity(q) + noise

    model = BatchModel(arm)
    own = model.gravity(q)

    def energy(q, load):  # of the payload: m g times the height of its centre of mass
        pose = model.flange_pose(q)
        moment = load[0] * pose[..., 2, 3] + pose[..., 2, :3] @ load[1:]
        return 9.81 * moment.sum()

    @jax.jit
    def residual(load):  # load: mass and first moment, in which torques are linear
        return (own + jax.grad(energy)(q, load) - measured).ravel()

    load = jnp.zeros(4)
    slope = jax.jacfwd(residual)(load)
    load = load - jnp.linalg.lstsq(slope, residual(load))[0]
    spread = NOISE * jnp.sqrt(jnp.diag(jnp.linalg.inv(slope.T @ slope)))
    mass = load[0]
    return np.array([mass, *load[1:] / mass]), np.array([spread[0], *spread[1:] / mass])


def draw(count: int, seed: int) -> None:
    """Draw the estimates over the number of poses, with three standard deviations."""
    from matplotlib.figure import Figure

    counts = np.unique(np.geomspace(3, count, 10).astype(int))
    found, spread = (np.array(part) for part in zip(*(fit(each, seed) for each in counts)))
    figure = Figure(figsize=(9.0, 5.0), layout='constrained')
    for axes, name, value, deviation, true in zip(
        figure.subplots(2, 2, sharex=True).ravel(), NAMES, found.T, spread.T, LOAD
    ):
        axes.errorbar(counts, value, 3.0 * deviation, fmt='o', capsize=3)
        axes.axhline(true, color='black', linewidth=0.8)
        axes.set(xscale='log', ylabel=name, xlabel='poses at rest')
    figure.savefig('payload_by_gradient.png', dpi=110)


def main() -> None:
    """Print estimates and true values, and draw the estimates by number of poses."""
    found, spread = fit(POSES, SEED)
    for name, value, deviation, true in zip(NAMES, found, spread, LOAD):
        print(f'{name}: {value:.4f} +- {deviation:.4f}, in truth {true:g}')
    draw(POSES, SEED)


if __name__ == '__main__':
    main()
