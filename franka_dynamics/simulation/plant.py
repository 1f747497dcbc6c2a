# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm that is not its model: other inertias, friction, vibration, noise, a load."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arm_simulation import SimulationSettings
from .joint_elasticity import franka_elasticity
from ..arm import ArmDescription, LinkInertia, ViscousCoulombFriction

# How far a real arm's links are from the published ones: identified from the public recording of
# a bare FER, cross-validation lets gaz2019 count as known to 10 %.
DEVIATION = 0.1
# Identified from a second real FER at 1 kHz (viscous, Coulomb, offset), rounded.
_VISCOUS = (0.05, 0.11, 0.06, 0.10, 0.07, 0.005, 0.065)
_COULOMB = (0.22, 0.17, 0.19, 0.48, 0.25, 0.16, 0.21)
_OFFSET = (-0.13, -0.02, 0.09, -0.09, -0.01, 0.08, -0.002)
_LOAD = LinkInertia.from_center_of_mass(0.2, (0.05, 0.0, 0.05), np.zeros(6))
# Of that arm's joint 2 between 15 and 40 Hz, per band of 5 Hz [N m rms].
_VIBRATION = 0.5
_FRANKA_JOINTS = 7  # of the arms whose gears are known
# Of sensors [rad, rad/s, N m], standard deviations.
_POSITION_NOISE, _VELOCITY_NOISE, _EFFORT_NOISE = 1e-5, 1e-3, 0.2


@dataclass(frozen=True, eq=False)
class Plant:
    """
    An arm in simulation that no published set describes.

    `arm` is what MuJoCo is given, its friction included; the settings hold the load that nobody
    declares, elastic joints, vibration and sensor noise.
    """

    arm: ArmDescription
    settings: SimulationSettings


def draw_plant(published: ArmDescription, seed: int = 0, deviation: float = DEVIATION) -> Plant:
    """
    Return an arm drawn about a published one.

    Every link's pseudo-inertia P becomes L exp(S) L^T with P = L L^T and a symmetric Gaussian S
    whose standard deviation is `deviation` on its diagonal and that over the square root of two
    beside it: the distribution to which the log-determinant divergence of identification is a
    prior (Lee, Wensing and Park 2020, "Geometric robot dynamic identification", IEEE T-RO 36(2)),
    every member of which a real body can have. An arm of seven joints has a Franka arm's elastic
    gears: the motors' inertia then takes torque that no sensor behind the gears sees.

    Parameters
    ----------
    published : ArmDescription
        The model that a user starts from; it must be physical.
    seed : int
        Of the links, the vibration and the noise.
    deviation : float
        Relative.

    Raises
    ------
    InertiaError
        If a link is not physical.

    """
    published.require_physical('a plant drawn about it')
    rng = np.random.default_rng(seed)
    links = tuple(_drawn(link, rng, deviation) for link in published.links)
    n = published.n
    viscous, coulomb, offset = (np.resize(values, n) for values in (_VISCOUS, _COULOMB, _OFFSET))
    friction = ViscousCoulombFriction(viscous, coulomb, offset)
    settings = SimulationSettings(
        payload=_LOAD,
        friction=True,
        vibration=_VIBRATION,
        elasticity=franka_elasticity(published) if n == _FRANKA_JOINTS else None,
        position_noise=_POSITION_NOISE,
        velocity_noise=_VELOCITY_NOISE,
        effort_noise=_EFFORT_NOISE,
        brake_release_after=0.0,
        seed=seed,
    )
    return Plant(
        replace(published, links=links, friction=friction, inertial_set='drawn'), settings
    )


def _drawn(link: LinkInertia, rng: np.random.Generator, deviation: float) -> LinkInertia:
    raw = rng.normal(0.0, deviation, (4, 4))
    change = 0.5 * (raw + raw.T)
    # The mean of two keeps the diagonal's deviation where it is and takes the root beside it.
    np.fill_diagonal(change, np.diag(raw))
    values, vectors = np.linalg.eigh(change)
    root = np.linalg.cholesky(link.pseudo_inertia())
    drawn = root @ (vectors * np.exp(values)) @ vectors.T @ root.T
    second = drawn[:3, :3]
    return LinkInertia(
        float(drawn[3, 3]), drawn[:3, 3], np.trace(second) * np.eye(3) - 0.5 * (second + second.T)
    )
