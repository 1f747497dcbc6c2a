# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A model of joints whose motor drives the link by an elastic gear with torque ripple.

A rigid simulator lacks what real torque sensors measure: ripple of the gear's wave generator, at
frequencies proportional to the joint's speed, amplified near the resonance of motor and link.
"""

from dataclasses import dataclass

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array, ArrayLike
from ..errors import SettingsError

# Of a Franka arm's joints; the ripple has a row for each harmonic. franka_elasticity() gives the
# sources.
MOTOR_INERTIA_KG_M2 = np.array([0.6057, 0.6057, 0.4625, 0.4625, 0.2055, 0.2055, 0.2055])
TORQUE_FEEDBACK_GAIN = 3.0
TORQUE_RIPPLE_AMPLITUDES_NM = (
    (0.13, 0.10, 0.13, 0.05, 0.01, 0.01, 0.0),
    (0.58, 0.50, 0.38, 0.54, 0.06, 0.09, 0.0),
    (0.10, 0.26, 0.08, 0.32, 0.12, 0.12, 0.0),
)


@dataclass(frozen=True, eq=False)
class JointElasticity:
    """
    Stiffness, damping, motor inertia, ripple and noise of an arm's elastic joints.

    B th'' = tau_m + ripple(th) - tau_J, tau_J = K (th - q) + D (th' - q').

    Spong 1987, "Modeling and control of elastic joint robots", ASME Journal of Dynamic Systems,
    Measurement, and Control 109(4), with a torque ripple that is periodic in the motor's angle th;
    q is the link's position and tau_J what the joint torque sensor measures.

    Attributes
    ----------
    stiffness, damping : ndarray, shape (n,)
        K [N m/rad] and D [N m s/rad].
    motor_inertia : ndarray, shape (n,)
        B [kg m^2], reflected to the joint.
    ripple_cycles_per_rad : ndarray, shape (n,)
        Periods of the wave generator's ripple per radian of the joint.
    ripple_amplitudes : ndarray, shape (h, n)
        Amplitudes of the torque ripple at `ripple_harmonics` times `ripple_cycles_per_rad` [N m].
    ripple_harmonics : ndarray, shape (h,)
        Multiples of `ripple_cycles_per_rad`.
    torque_noise_std : ndarray, shape (n,)
        Standard deviation of the motor torque's noise, drawn anew every step [N m].

    """

    stiffness: Array
    damping: Array
    motor_inertia: Array
    ripple_cycles_per_rad: Array
    ripple_amplitudes: Array
    ripple_harmonics: Array
    torque_noise_std: Array


def franka_elasticity(arm: ArmDescription) -> JointElasticity:
    """
    Return a Franka arm's elasticity, as published for its motors and fitted to a recorded FER.

    Motor inertias are Franka's reflected motor inertias of the FR3 (as quoted by Drake's
    franka_description), divided by four: torque feedback reduces the apparent motor inertia, as in
    arms of this family (Albu-Schaeffer, Ott, Hirzinger 2007, "A unified passivity-based control
    framework for position, torque and impedance control of flexible joint robots", IJRR 26(1)).
    Stiffness, damping, ripple and noise are fitted to the 1 kHz recording of a real FER by Gaz et
    al. 2019, in which the torque ripple has 38.4 periods per radian on joints 1 to 4 and 25.6 on
    joints 5 to 7, as expected of the two lobes of harmonic drives of ratio 120 and 80. In the
    recording of Gaz et al. the ripple is strongest near 50 Hz, so the stiffness of joints 1 to 4
    is chosen for a resonance of motor and link near 50 Hz; the resonance of joints 5 to 7 is near
    110 Hz. Raises SettingsError if the arm does not have seven joints.
    """
    if arm.n != 7:
        known = "elastic joints are known for a Franka arm's seven joints alone"
        raise SettingsError(f'{arm.name} has {arm.n} joints; {known}.')
    return JointElasticity(
        stiffness=np.array([13e3, 14e3, 10e3, 10e3, 9e3, 9e3, 2.2e3]),
        damping=np.array([17.0, 15.0, 13.0, 11.0, 1.2, 1.2, 0.3]),
        motor_inertia=MOTOR_INERTIA_KG_M2 / (1.0 + TORQUE_FEEDBACK_GAIN),
        ripple_cycles_per_rad=np.array([38.4, 38.4, 38.4, 38.4, 25.6, 25.6, 25.6]),
        ripple_amplitudes=np.array(TORQUE_RIPPLE_AMPLITUDES_NM),
        ripple_harmonics=np.array([0.5, 1.0, 2.0]),
        torque_noise_std=np.array([0.52, 0.65, 0.48, 0.33, 0.12, 0.15, 0.02]),
    )


class ElasticDrive:
    """The motors of an arm's elastic joints in a simulation, with their gears' torques."""

    def __init__(self, elasticity: JointElasticity, q: ArrayLike) -> None:
        """Put the motors at rest at the link positions q [rad], without torque."""
        self._elasticity = elasticity
        cycles = elasticity.ripple_cycles_per_rad
        self._wavenumber = 2.0 * np.pi * elasticity.ripple_harmonics[:, None] * cycles
        self.put_at_rest(np.asarray(q, dtype=float), np.zeros(len(elasticity.stiffness)))

    def put_at_rest(self, q: Array, torque: Array) -> None:
        """Put the motors at rest such that the gears exert `torque` [N m] on links at q [rad]."""
        self.position = q + torque / self._elasticity.stiffness
        self.velocity = np.zeros_like(q)

    def step(self, motor_torque: Array, q: Array, dq: Array, dt: float) -> Array:
        """
        Advance the motors by `dt` [s]; return the gear torque but for -D q', (n,) [N m].

        The result is K (th - q) + D th'. The caller must add the rest of the gear torque, -D q',
        as joint damping, which the integration of the links treats implicitly. The motors'
        velocity is advanced first, then their position with the new velocity.
        """
        joints = self._elasticity
        ripple = np.add.reduce(joints.ripple_amplitudes * np.sin(self._wavenumber * self.position))
        gear = joints.stiffness * (self.position - q)
        driving = motor_torque + ripple - gear - joints.damping * (self.velocity - dq)
        self.velocity = self.velocity + dt * (driving / joints.motor_inertia)
        self.position = self.position + dt * self.velocity
        # Links and motors must get the same spring torque; otherwise the arm gains energy.
        return gear + joints.damping * self.velocity

    def gear_torque(self, q: Array, dq: Array) -> Array:
        """Return the gear torque tau_J with the links at q, dq, shape (n,) [N m]."""
        joints = self._elasticity
        return joints.stiffness * (self.position - q) + joints.damping * (self.velocity - dq)
