# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Published impedance laws of Franka arms: gains, rates and filters, with their sources."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array
from ..control.settings import values_per_joint
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import list_text, SettingsError

# Singular values of a Jacobian below this part of the largest count as zero, as in crisp's.
_JACOBIAN_RANK_TOLERANCE = 1e-6

Gains = float | Sequence[float]


@dataclass(frozen=True)
class TrackingLaw:
    """
    An impedance law that makes an arm follow joint targets, as policies and planners send them.

    The torque is K (q_t - q) + D (dq_t - dq) + C dq, and the robot adds g(q). K is `kp` plus J^T
    `cartesian_kp` J plus `nullspace_kp` times the projector I - J^+ J on motions that do not move
    the tool; D is made of `kd`, `cartesian_kd` and `nullspace_kd` likewise. J is the Jacobian of
    the point that is `tool_length` beyond the flange, along its z.

    Attributes
    ----------
    name : str
        The law's name in tables.
    kp, kd : float or sequence of n floats
        Gains of joints, one for all or one for each [N m/rad, N m s/rad].
    cartesian_kp, cartesian_kd : tuple of 6 floats
        Gains along and about the axes of the base, x, y, z each [N/m, N m/rad, per s].
    nullspace_kp, nullspace_kd : float
        Gains of motions that do not move the tool [N m/rad, N m s/rad].
    tool_length : float
        Distance from the flange to the point that Cartesian gains hold [m].
    has_target_velocity : bool
        Whether D damps the difference from the target's velocity. If false, or if targets come in
        steps, it damps to rest.
    target_rate : float
        Targets per second, each held until the next [Hz]; infinite if one comes in each cycle.
    latency : float
        Age of a target when the law gets it [s].
    filter_cutoff : float
        Cut-off of a low-pass of first order on targets [Hz]; infinite without a filter.

    Raises
    ------
    SettingsError
        If a gain, the latency or a length is negative or not finite, if no gain is positive, or if
        the rate or the cut-off is not positive.

    """

    name: str
    kp: Gains = 0.0
    kd: Gains = 0.0
    cartesian_kp: tuple[float, ...] = (0.0,) * 6
    cartesian_kd: tuple[float, ...] = (0.0,) * 6
    nullspace_kp: float = 0.0
    nullspace_kd: float = 0.0
    tool_length: float = 0.0
    has_target_velocity: bool = False
    target_rate: float = np.inf
    latency: float = 0.0
    filter_cutoff: float = np.inf

    def __post_init__(self) -> None:
        """Raise SettingsError for values that no law can have."""
        for name in (
            'kp',
            'kd',
            'cartesian_kp',
            'cartesian_kd',
            'nullspace_kp',
            'nullspace_kd',
            'tool_length',
            'latency',
        ):
            value = np.asarray(getattr(self, name), dtype=float)
            if not (np.isfinite(value).all() and (value >= 0.0).all()):
                raise SettingsError(
                    f'{name} of the law {self.name:.40} is {getattr(self, name)!s:.80}; it must '
                    'be zero or more, and finite.'
                )
        for name in ('target_rate', 'filter_cutoff'):
            if not getattr(self, name) > 0.0:
                raise SettingsError(
                    f'{name} of the law {self.name:.40} is {getattr(self, name)!s:.80} Hz; it '
                    'must be above zero.'
                )
        for name in ('cartesian_kp', 'cartesian_kd'):
            if len(getattr(self, name)) != 6:
                raise SettingsError(
                    f'{name} of the law {self.name:.40} has {len(getattr(self, name))} numbers; '
                    'give six: along x, y, z and about x, y, z.'
                )
        if not (np.any(self.kp) or np.any(self.cartesian_kp)):
            raise SettingsError(
                f'The law {self.name:.40} has no stiffness: give kp [N m/rad] or cartesian_kp.'
            )

    def joint_gains(self, arm: ArmDescription, q: Array) -> tuple[Array, Array]:
        """
        Return K [N m/rad] and D [N m s/rad] at poses q (N, n), shape (N, n, n) each.

        Raises SettingsError if `kp` or `kd` has neither one nor n numbers.
        """
        stiffness = np.diag(values_per_joint('kp', self.kp, arm.n))
        damping = np.diag(values_per_joint('kd', self.kd, arm.n))
        cartesian_gains = *self.cartesian_kp, *self.cartesian_kd
        if not any((*cartesian_gains, self.nullspace_kp, self.nullspace_kd)):
            shape = (len(q), arm.n, arm.n)
            return np.broadcast_to(stiffness, shape), np.broadcast_to(damping, shape)
        J = _tool_jacobian(arm, q, self.tool_length)  # (N, 6, n)
        J_transposed = np.swapaxes(J, -1, -2)
        projector = np.eye(arm.n) - np.linalg.pinv(J, _JACOBIAN_RANK_TOLERANCE) @ J

        def total(joint: Array, cartesian: Sequence[float], nullspace: float) -> Array:
            """Return the sum (N, n, n) of joint, Cartesian and nullspace gains."""
            weighted_J = np.asarray(cartesian)[:, None] * J
            return joint + J_transposed @ weighted_J + nullspace * projector

        return (
            total(stiffness, self.cartesian_kp, self.nullspace_kp),
            total(damping, self.cartesian_kd, self.nullspace_kd),
        )


def _tool_jacobian(arm: ArmDescription, q: Array, length: float) -> Array:
    """Return the Jacobian (N, 6, n) of the point `length` [m] beyond the flange, along its z."""
    model = PinocchioModel(arm)
    J = model.jacobian(q)
    offset = length * model.frame_pose(q)[:, :3, 2]
    # v_tool = v + omega x offset, for each column of the Jacobian.
    J[:, :3] += np.cross(J[:, 3:], offset[:, :, None], axis=1)
    return J


def _critical(stiffness: Sequence[float]) -> tuple[float, ...]:
    """Return the damping 2 sqrt(k) of each stiffness k, the default of franky and crisp."""
    return tuple(2.0 * np.sqrt(stiffness))


_POLYMETIS = TrackingLaw(
    'polymetis',
    kp=(40.0, 30.0, 50.0, 25.0, 35.0, 25.0, 10.0),
    kd=(4.0, 6.0, 5.0, 5.0, 3.0, 2.0, 1.0),
    cartesian_kp=(750.0,) * 3 + (15.0,) * 3,
    cartesian_kd=(37.0,) * 3 + (2.0,) * 3,
)
_CRISP_CARTESIAN_KP = (400.0,) * 3 + (30.0,) * 3
_CRISP_NULLSPACE_KP = 2.0
_CRISP_TARGET_SMOOTHING = 0.1  # of an exponential moving average, at 1 kHz
_CRISP_RATE_HZ = 1000.0
# Each law as published, read in 2026. Latencies are those of a set-up, and not of a law: zero.
_PUBLISHED = (
    # facebookresearch/fairo, polymetis/polymetis/conf/robot_client/franka_hardware.yaml: Kq, Kqd,
    # Kx, Kxd, 1 kHz. robot_interface.py: start_joint_impedance and start_cartesian_impedance are
    # HybridJointImpedanceControl, which adds C dq and damps to rest; Kx holds panda_link8, the
    # flange. A target acts from the next cycle on.
    _POLYMETIS,
    # droid-dataset/droid, config/panda and config/fr3/franka_hardware.yaml: Polymetis' law with a
    # softer Kx; droid/franka/robot.py sends joint targets to it, in steps at 15 Hz.
    replace(_POLYMETIS, name='droid', cartesian_kp=(400.0,) * 3 + (15.0,) * 3, target_rate=15.0),
    # utiasDSL/crisp_controllers_demos, config/fr3/controllers.yaml, its
    # cartesian_impedance_controller: gains at fr3_hand_tcp, nullspace stiffness.
    # utiasDSL/crisp_controllers, src/cartesian_controller.yaml: damping 2 sqrt(k),
    # filter.target_pose 0.1 in each cycle; cartesian_controller.cpp: J^T (K e - D J dq), plus the
    # projector I - J^+ J times the nullspace's part, whose q_ref is taken to be the recorded one,
    # and C dq. crisp_py's RobotConfig: targets at publish_frequency, 50 Hz.
    TrackingLaw(
        'crisp',
        cartesian_kp=_CRISP_CARTESIAN_KP,
        cartesian_kd=_critical(_CRISP_CARTESIAN_KP),
        nullspace_kp=_CRISP_NULLSPACE_KP,
        nullspace_kd=2.0 * np.sqrt(_CRISP_NULLSPACE_KP),
        tool_length=0.1034,
        target_rate=50.0,
        filter_cutoff=-np.log1p(-_CRISP_TARGET_SMOOTHING) * _CRISP_RATE_HZ / (2.0 * np.pi),
    ),
    # TimSchneider42/franky, include/franky/motion/joint_impedance_base.hpp: stiffness 50, damping
    # 2 sqrt(50), C dq; JointImpedanceTrackingMotion takes position and velocity in each cycle.
    TrackingLaw('franky', kp=50.0, kd=2.0 * np.sqrt(50.0), has_target_velocity=True),
)
LAWS = {law.name: law for law in _PUBLISHED}


def tracking_law(name: str) -> TrackingLaw:
    """Return the published law of a name; SettingsError if there is none."""
    if name not in LAWS:
        raise SettingsError(f'There is no law {name!r:.60}; there are {list_text([*LAWS])}.')
    return LAWS[name]
