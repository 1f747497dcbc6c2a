# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What equations can be generated, and with which parameters; without NumPy."""

from enum import Enum


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
    """Whether inertial parameters and gravity are numbers in generated code or set at run time."""

    BAKED = 'baked'  # numbers in the code
    RUN_TIME = 'run_time'  # arguments of a function that is called once, before the first state


PRECISIONS = ('double', 'float')  # of generated C
