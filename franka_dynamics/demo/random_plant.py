# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A simulated arm that differs from the published model, as real arms do.

Its inertias differ from the published ones; it also has friction, vibration, sensor noise, an
undeclared load and, if it has seven joints, elastic gears.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..arm import ArmDescription, LinkInertia, ViscousCoulombFriction
from ..simulation.arm_simulation import SimulationSettings
from ..simulation.joint_elasticity import franka_elasticity

# Of a real arm's inertias about the published ones: about 10 %, as identification from the public
# recording of a bare FER suggests for gaz2019.
RELATIVE_INERTIA_STD = 0.1
# Friction identified from a 1 kHz recording of a real FER (viscous, Coulomb, offset), rounded.
_VISCOUS_FRICTION_NM_S_PER_RAD = (0.05, 0.11, 0.06, 0.10, 0.07, 0.005, 0.065)
_COULOMB_FRICTION_NM = (0.22, 0.17, 0.19, 0.48, 0.25, 0.16, 0.21)
_FRICTION_OFFSET_NM = (-0.13, -0.02, 0.09, -0.09, -0.01, 0.08, -0.002)
_UNDECLARED_PAYLOAD = LinkInertia.from_center_of_mass(0.2, (0.05, 0.0, 0.05), np.zeros(6))
# Vibration of joint 2 of a real FER between 15 and 40 Hz, per band of 5 Hz [N m rms].
_VIBRATION_RMS_NM = 0.5
_FRANKA_JOINT_COUNT = 7  # number of joints of the arms whose gears are known
# Standard deviations of the sensors' noise.
_POSITION_NOISE_RAD = 1e-5
_VELOCITY_NOISE_RAD_S = 1e-3
_EFFORT_NOISE_NM = 0.2


@dataclass(frozen=True, eq=False)
class Plant:
    """
    A simulated arm whose true inertias differ from those of every published inertial set.

    `arm` is the arm that MuJoCo simulates, its friction included; `settings` hold the load unknown
    to the model, elastic joints, vibration and sensor noise.
    """

    arm: ArmDescription
    settings: SimulationSettings


def random_plant(
    published: ArmDescription, seed: int = 0, relative_std: float = RELATIVE_INERTIA_STD
) -> Plant:
    """
    Return a simulated arm with inertias drawn at random near those of a published arm.

    Every link's pseudo-inertia P = L L^T becomes L exp(S) L^T, which is physically consistent. S
    is symmetric and Gaussian, with standard deviation `relative_std` on the diagonal, and
    1 / sqrt(2) of it off the diagonal. To second order and up to a constant, the negative
    logarithm of the probability density of S is the log-determinant divergence that identification
    uses as prior, divided by the square of `relative_std` (Lee, Wensing and Park 2020, "Geometric
    robot dynamic identification", IEEE T-RO 36(2)). An arm of seven joints gets a Franka arm's
    elastic gears; sensors on their link side do not measure what accelerates the motors.

    `seed` is the seed of the random links, vibration and noise. Raises InertiaError if a link of
    the published arm is not physical, SettingsError for a negative `seed`.
    """
    published.require_physical('a plant drawn about it')
    n = published.n
    values = _VISCOUS_FRICTION_NM_S_PER_RAD, _COULOMB_FRICTION_NM, _FRICTION_OFFSET_NM
    viscous, coulomb, offset = (np.resize(row, n) for row in values)
    friction = ViscousCoulombFriction(viscous, coulomb, offset)
    settings = SimulationSettings(
        payload=_UNDECLARED_PAYLOAD,
        friction=True,
        vibration_rms=_VIBRATION_RMS_NM,
        elasticity=franka_elasticity(published) if n == _FRANKA_JOINT_COUNT else None,
        position_noise=_POSITION_NOISE_RAD,
        velocity_noise=_VELOCITY_NOISE_RAD_S,
        effort_noise=_EFFORT_NOISE_NM,
        brake_release_after=0.0,
        seed=seed,
    )
    rng = np.random.default_rng(seed)
    links = tuple(_random_link(link, rng, relative_std) for link in published.links)
    drawn = replace(published, links=links, friction=friction, inertial_set='drawn')
    return Plant(drawn, settings)


def _random_link(link: LinkInertia, rng: np.random.Generator, relative_std: float) -> LinkInertia:
    """Return a physically consistent link inertia drawn at random near a given one."""
    raw = rng.normal(0.0, relative_std, (4, 4))
    # Off the diagonal `change` is the mean of two independent values, with standard deviation
    # `relative_std` / sqrt(2); on the diagonal it is one value, with the whole `relative_std`.
    values, vectors = np.linalg.eigh(0.5 * (raw + raw.T))
    root = np.linalg.cholesky(link.pseudo_inertia())
    drawn = root @ (vectors * np.exp(values)) @ vectors.T @ root.T
    second = drawn[:3, :3]
    return LinkInertia(
        float(drawn[3, 3]),
        drawn[:3, 3],
        np.trace(second) * np.eye(3) - 0.5 * (second + second.T),
    )
