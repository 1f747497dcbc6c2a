# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The names of `__init__.py`, for editors and type checkers."""

from .arm import ArmDescription as ArmDescription
from .arm import available_arms as available_arms
from .arm import available_hands as available_hands
from .arm import available_sets as available_sets
from .arm import LinkInertia as LinkInertia
from .arm import load_hand as load_hand
from .arm_io import load_arm as _load
from .arm_io import save as save
from .arm_io import write_mjcf as write_mjcf
from .arm_io import write_urdf as write_urdf
from .batch.batch_model import BatchModel as BatchModel
from .batch.generated_model import TracedModel as TracedModel
from .codegen.c_code import c_header as c_header
from .codegen.equations import customised_equations as customised_equations
from .codegen.file_comments import operation_count as operation_count
from .control.feedforward import Feedforward as Feedforward
from .control.settings import Terms as _Terms
from .dynamics.body_tree import BodyTree as BodyTree
from .dynamics.closed_chain import ClosedChain as ClosedChain
from .dynamics.closed_chain import Loop as Loop
from .dynamics.closed_chain_derivatives import (
    differentiate_by_parameters as differentiate_by_parameters,
)
from .dynamics.closed_chain_derivatives import motor_derivatives as motor_derivatives
from .dynamics.derivatives import dynamics_derivatives as dynamics_derivatives
from .dynamics.derivatives import linearize as linearize
from .dynamics.derivatives import tree_motion as tree_motion
from .dynamics.newton_euler import NewtonEulerModel as NewtonEulerModel
from .dynamics.pinocchio_model import PinocchioModel as _Model
from .dynamics.product_of_exponentials import ExponentialsModel as ExponentialsModel
from .dynamics.regressor import parameter_names as parameter_names
from .dynamics.regressor import parameter_vector as parameter_vector
from .dynamics.regressor import torque_regressor as torque_regressor
from .dynamics.sampling import sample_states as sample_states
from .dynamics.space_inertia import space_inertias as space_inertias
from .errors import FrankaDynamicsError as FrankaDynamicsError
from .identification.base_parameters import base_parameters as base_parameters
from .identification.direct_method import direct_base_parameters as direct_base_parameters
from .identification.direct_method import energy_regressors as energy_regressors
from .identification.identify import identify as identify
from .identification.payload import identify_payload as identify_payload
from .identification.tracking import predict_tracking as predict_tracking
from .mesh.mesh import inertia_motion_derivative as inertia_motion_derivative
from .mesh.mesh import load_mesh as load_mesh
from .mesh.mesh import mesh_inertia as mesh_inertia
from .mesh.mesh import TriangleMesh as TriangleMesh
from .mesh.mesh import vertex_derivatives as vertex_derivatives
from .recordings.log_import import import_log as import_log
from .recordings.log_import import recording_from_arrays as recording_from_arrays
from .recordings.options import ColumnMap as ColumnMap
from .recordings.recording import read_recording as read_recording
from .recordings.recording import write_recording as write_recording
from .rpr.kinematics import RprKinematics as RprKinematics
from .urdf.importer import import_urdf as import_urdf
from .validation.compare_files import compare as compare
from .validation.crosscheck import compare_formulations as compare_formulations
from .validation.crosscheck import crosscheck as crosscheck

__version__: str
load = _load
Model = _Model
Terms = _Terms
