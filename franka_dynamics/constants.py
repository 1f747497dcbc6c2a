# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Option values, quantities and defaults of library and command line; does not import NumPy."""

from enum import Enum

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2] in the space frame; FCI's value
AS_LISTED = 'as_listed'  # as `hand`: keep the hand with which the inertial set was published
NO_HAND = 'none'  # as `hand`: take the hand off
REPAIR_TO_NEAREST = 'nearest_within_rounding'
REPAIR_METHODS = (REPAIR_TO_NEAREST,)  # of an inertial set
GRAVITY_DIRECTIONS = ('vertical', 'tilted', 'none')  # of gravity, for base parameters
# Of `arm export`; controller is that of the C++ package, franky and crisp of friction alone.
EXPORT_FORMATS = ('urdf', 'mjcf', 'controller', 'franky', 'crisp', 'desk')
# Of `bag replay --law`: the published laws, and that of --gains.
LAW_NAMES = ('polymetis', 'droid', 'crisp', 'franky')
GAINS_LAW_NAME = 'gains'
# SCHED_FIFO priority of control threads, as of ros2_control's controller manager: users permit it.
REALTIME_PRIORITY = 50


class Convention(str, Enum):
    """The convention of a DH table's rows, modified (Craig) or standard."""

    MODIFIED = 'modified'  # Rx(alpha) Tx(a) Rz(theta) Tz(d); the axis of joint i is z of frame i
    STANDARD = 'standard'  # Rz(theta) Tz(d) Tx(a) Rx(alpha); the axis of joint i is z of frame i-1


def parse_float(text: str) -> float:
    """
    Return float(text); raise ValueError also for underscores and digits that are not ASCII.

    Raises
    ------
    ValueError
        If it is no number, or not a plain decimal one: Python would read 1_0 as ten.

    """
    if '_' in text or not text.isascii():
        raise ValueError(f'{text!r} is no decimal number')
    return float(text)


class Quantity(str, Enum):
    """Quantities for which equations can be generated."""

    __hash__ = str.__hash__  # kernels are looked up by it; Enum's is Python code

    INVERSE_DYNAMICS = 'inverse_dynamics'  # M ddq + C dq + g
    NONLINEAR_EFFECTS = 'nonlinear_effects'  # C dq + g
    GRAVITY = 'gravity'  # g
    CORIOLIS = 'coriolis'  # C dq
    MASS_MATRIX = 'mass_matrix'  # M
    DERIVATIVES = 'derivatives'  # of M ddq + C dq + g by q, dq and ddq
    FORWARD_DYNAMICS = 'forward_dynamics'  # M^-1 (tau - C dq - g)
    CORIOLIS_MATRIX = 'coriolis_matrix'  # C of Christoffel symbols, dM/dt = C + C^T
    REGRESSOR = 'regressor'  # H with M ddq + C dq + g = H X, without rotors
    FLANGE_POSE = 'flange_pose'  # T of the flange, or of a tree's tool, in the space frame
    JACOBIAN = 'jacobian'  # J of the flange: (v, omega) = J dq
    BIAS_ACCELERATION = 'bias_acceleration'  # dJ/dt dq of that Jacobian, in space axes
    OPERATIONAL_SPACE_INERTIA = 'operational_space_inertia'  # (J M^-1 J^T)^-1, in space axes
    FRAMES = 'frames'  # poses of the frames of all joints and of the flange
    FIRST_MOMENT = 'first_moment'  # sum of mass times centre of mass of all links


class ParameterMode(str, Enum):
    """How generated code gets inertial parameters and gravity, as numbers or at run time."""

    BAKED = 'baked'  # numbers in the code
    RUN_TIME = 'run_time'  # arguments of a function that is called once, before the first state


PRECISIONS = ('double', 'float')  # of generated C
