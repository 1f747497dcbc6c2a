# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How an arm moves: one protocol, independent formulations, derivatives, closed chains."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .body_tree import BodyTree as BodyTree
    from .closed_chain import ChainMotion as ChainMotion
    from .closed_chain import ClosedChain as ClosedChain
    from .closed_chain import Loop as Loop
    from .closed_chain_derivatives import (
        differentiate_by_parameters as differentiate_by_parameters,
    )
    from .closed_chain_derivatives import motor_derivatives as motor_derivatives
    from .closed_chain_derivatives import MotorDerivatives as MotorDerivatives
    from .closed_chain_derivatives import ParameterDerivatives as ParameterDerivatives
    from .closed_chain_derivatives import reduced_torque_derivative as reduced_torque_derivative
    from .derivatives import differentiate as differentiate
    from .derivatives import DynamicsDerivatives as DynamicsDerivatives
    from .derivatives import Linearization as Linearization
    from .derivatives import linearize as linearize
    from .derivatives import tree_motion as tree_motion
    from .derivatives import TreeMotion as TreeMotion
    from .lagrangian import LagrangianModel as LagrangianModel
    from .model import DynamicsModel as DynamicsModel
    from .model import GRAVITY as GRAVITY
    from .newton_euler import NewtonEulerModel as NewtonEulerModel
    from .pinocchio_model import build_pinocchio as build_pinocchio
    from .pinocchio_model import PinocchioModel as PinocchioModel
    from .product_of_exponentials import ExponentialsModel as ExponentialsModel
    from .regressor import parameter_names as parameter_names
    from .regressor import parameter_vector as parameter_vector
    from .regressor import torque_regressor as torque_regressor
    from .regressor import with_parameter_vector as with_parameter_vector
    from .regressor import wrench_regressor as wrench_regressor
    from .space_inertia import space_inertias as space_inertias
    from .space_inertia import SpaceInertia as SpaceInertia

__getattr__, __dir__, __all__ = lazy_exports(__name__)
