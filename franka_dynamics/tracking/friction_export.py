# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Texts with an arm's friction: Python code for franky, a parameter file for crisp_controllers.

franky (2.0, FrictionCompensationParams) commands coulomb tanh(dq / epsilon) + viscous dq, and
crisp_controllers the sigmoid of Gaz et al. 2019, both at the measured velocity. Their parameters
are fitted to the friction torque that this package would command along a motion, less its margin.
"""

from typing import Any

import numpy as np

from ..arm import ArmDescription, SigmoidFriction
from ..arm.friction import grows_with_load, LinearFriction
from ..arrays import Array
from ..control.terms import FrictionFeedforward
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import FrictionError, require_extra

_FRANKY_EPSILON_RAD_S = 0.03  # franky's default; less makes torque of the sensors' noise
_MAX_SIGMOID_SLOPE_S_RAD = 2.0 / _FRANKY_EPSILON_RAD_S  # the sigmoid that is as steep


def franky_text(arm: ArmDescription) -> str:
    """
    Return Python code with an arm's friction as franky's parameters; FrictionError if none.

    They are fitted to friction at up to about 1 rad/s (`_friction_samples`). `max_torque` is that
    of the fit at 1 rad/s: faster joints get no more from franky.
    """
    dq, torque = _friction_samples(arm)
    from scipy.optimize import lsq_linear

    # Coulomb, viscous and constant friction, (N, 3); the first two must brake.
    columns = np.stack([np.tanh(dq / _FRANKY_EPSILON_RAD_S), dq, np.ones_like(dq)], axis=-1)
    minima = [0.0, 0.0, -np.inf]
    joint_parameters = [
        lsq_linear(columns, joint_torque, (minima, np.inf)).x for joint_torque in torque.T
    ]
    parameters = np.array(joint_parameters).T  # (3, n)
    coulomb, viscous, offset = parameters
    error = torque - columns @ parameters
    return (
        f'{_fit_comment(arm, "franky", error, torque)}'
        'from franky import FrictionCompensationParams\n'
        '\n'
        'FRICTION = FrictionCompensationParams(\n'
        f'    coulomb={_list_text(coulomb)},\n'
        f'    viscous={_list_text(viscous)},\n'
        f'    max_torque={_list_text(coulomb + viscous)},\n'
        f'    velocity_epsilon={_FRANKY_EPSILON_RAD_S},\n'
        ')\n'
        f'CONSTANT_TORQUE_OFFSET = {_list_text(offset)}'
        '  # constant_torque_offset of joint impedance\n'
    )


def crisp_text(arm: ArmDescription) -> str:
    """Return crisp_controllers' file text for an arm's friction; FrictionError if it has none."""
    dq, torque = _friction_samples(arm)
    from scipy.optimize import least_squares

    def sigmoid(x: Array) -> SigmoidFriction:
        """Return the sigmoid friction with amplitudes, slopes and offset shares x, (3 n,)."""
        amplitude, slope, share = x.reshape(3, -1)
        return SigmoidFriction(amplitude, slope, np.log(share / (1.0 - share)) / slope)

    def fitted_parameters(torque: Array) -> Any:
        """Return the parameters (3,) of the sigmoid that fits one joint's friction torque best."""
        start = [2.0 * np.abs(torque).mean() + 1e-6, 10.0, 0.5]
        bounds = ([0.0, 1.0, 0.01], [np.inf, _MAX_SIGMOID_SLOPE_S_RAD, 0.99])

        def residual(x: Array) -> Array:
            """Return the sigmoid's torque minus the joint's friction torque, (N,) [N m]."""
            return sigmoid(x).torque(dq[:, None])[:, 0] - torque

        return least_squares(residual, start, bounds=bounds).x

    joint_parameters = [fitted_parameters(joint_torque) for joint_torque in torque.T]
    friction = sigmoid(np.array(joint_parameters).T)
    error = torque - friction.torque(dq[:, None] * np.ones(arm.n))
    return (
        f'{_fit_comment(arm, "crisp_controllers", error, torque)}'
        '/**:\n'
        '  ros__parameters:\n'
        '    use_friction: true\n'
        '    friction:\n'
        f'      fp1: {_list_text(friction.amplitude)}\n'
        f'      fp2: {_list_text(friction.slope)}\n'
        f'      fp3: {_list_text(friction.offset)}\n'
    )


FRICTION_WRITERS = {'franky': franky_text, 'crisp': crisp_text}


def _friction_samples(arm: ArmDescription) -> tuple[Array, Array]:
    """
    Return a test motion's velocities (N,) [rad/s], friction (N, n) [N m]; FrictionError if none.

    Friction that grows with the load is that of the motion about the arm's home pose. Raises
    FrictionError for an arm without friction, MissingDependencyError without scipy.
    """
    if arm.friction is None:
        raise FrictionError(f'{arm.file or arm.name} has no friction; `identify arm` writes it.')
    with require_extra('Fitting friction needs scipy', 'identify'):
        import scipy  # noqa: F401
    time = np.arange(0.0, 30.0, 0.01)
    # Speeds [rad/s] and frequencies of two sines, to about 1 rad and 1 rad/s.
    sines = (0.6, 2.0 * np.pi * 0.13), (0.4, 2.0 * np.pi * 0.31)
    q = sum(-speed / omega * np.cos(omega * time) for speed, omega in sines)
    dq = sum(speed * np.sin(omega * time) for speed, omega in sines)
    ddq = sum(speed * omega * np.cos(omega * time) for speed, omega in sines)
    every_joint = np.ones(arm.n)
    positions = np.outer(q, every_joint)  # (N, n), rad
    velocities = np.outer(dq, every_joint)
    load = None
    if grows_with_load(arm.friction):
        load = PinocchioModel(arm).inverse_dynamics(
            arm.home_position + positions, velocities, np.outer(ddq, every_joint)
        )
    torque = FrictionFeedforward(arm.friction).torque_along(positions, velocities, load)
    if isinstance(arm.friction, LinearFriction):
        # Both send torques to a robot that adds its own g(q).
        torque = torque + arm.friction.offset_to_command(receiver_adds_gravity=True)
    return np.asarray(dq), torque


def _fit_comment(arm: ArmDescription, name: str, error: Array, torque: Array) -> str:
    """Return a comment for a parameter file on the arm and the fit's rms errors by joint."""
    rms_errors = np.sqrt(np.mean(error**2, axis=0))  # (n,), N m
    rms_torques = np.sqrt(np.mean(torque**2, axis=0))
    load = ''
    if grows_with_load(arm.friction):
        load = (
            f'# The friction grows with the load, and {name} has no term for that. These numbers\n'
            "# hold about the arm's home pose without more payload, and are wrong at others.\n"
        )
    return (
        f'# Friction of {arm.name} ({arm.inertial_set}) for {name}, less two standard deviations\n'
        '# where the arm file states them. Rms errors of this form, largest after reversals,\n'
        f'# on paths of 1 rad at up to 1 rad/s: {_list_text(rms_errors)} N m,\n'
        f'# of {_list_text(rms_torques)} N m.\n{load}'
    )


def _list_text(values: Array) -> str:
    """Return numbers as text, a bracketed list with four decimals."""
    numbers = [f'{value + 0.0:.4f}' for value in values]  # + 0.0 makes -0.0 a zero
    return f'[{", ".join(numbers)}]'
