# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Cross-checked gravity, Coriolis and mass-matrix feedforward for Franka arms.

    >>> import franka_dynamics as fd
    >>> arm = fd.load('fer')
    >>> fd.Model(arm).gravity(arm.home).shape
    (7,)

Each name in `__all__` is imported at its first use, so that `import franka_dynamics` alone loads
neither Pinocchio nor a compiler nor a solver.
"""

from ._lazy import lazy_exports

# TYPE_CHECKING is not imported, because importing typing takes about as long as the rest of this
# module.
TYPE_CHECKING = False
if TYPE_CHECKING:  # for editors and type checkers
    from .arm import ArmDescription as ArmDescription
    from .arm import available_arms as available_arms
    from .arm import available_hands as available_hands
    from .arm import available_sets as available_sets
    from .arm import Convention as Convention
    from .arm import DHRow as DHRow
    from .arm import FrictionModel as FrictionModel
    from .arm import Joint as Joint
    from .arm import JointKind as JointKind
    from .arm import JointLimits as JointLimits
    from .arm import LinkInertia as LinkInertia
    from .arm import load_hand as load_hand
    from .arm import MaxwellSlipFriction as MaxwellSlipFriction
    from .arm import SigmoidFriction as SigmoidFriction
    from .arm import ViscousCoulombFriction as ViscousCoulombFriction
    from .arm.arm_file_writer import save as save
    from .arm.sampling import JointStates as JointStates
    from .arm.sampling import random_arm as random_arm
    from .arm.sampling import sample_states as sample_states
    from .arm.shapes import Shape as Shape
    from .arm.shapes import ShapeKind as ShapeKind
    from .batch.batch_model import BatchModel as BatchModel
    from .codegen.emit import c_header as c_header
    from .codegen.equations import customised_equations as customised_equations
    from .codegen.equations import Equations as Equations
    from .codegen.equations import Parameters as Parameters
    from .codegen.equations import Quantity as Quantity
    from .control.control_law import ControlLaw as ControlLaw
    from .control.cycle_result import ControllerStatus as ControllerStatus
    from .control.cycle_result import CycleResult as CycleResult
    from .control.cycle_result import Mode as Mode
    from .control.fault_latch import ClearedBy as ClearedBy
    from .control.feedforward import FeedforwardController as FeedforwardController
    from .control.guard import GuardLimits as GuardLimits
    from .control.limits import LimitedTorque as LimitedTorque
    from .control.possible_motion import Condition as Condition
    from .control.running_crosscheck import RunningCrosscheck as RunningCrosscheck
    from .control.settings import Settings as Settings
    from .control.settings import StateSource as StateSource
    from .control.settings import TargetProfile as TargetProfile
    from .control.settings import Terms as Terms
    from .control.supervision import Observation as Observation
    from .control.supervision import SupervisionLimits as SupervisionLimits
    from .control.terms import StateTerms as StateTerms
    from .control.terms import TermModel as TermModel
    from .control.trajectory import ReferencePoint as ReferencePoint
    from .control.trajectory import Trajectory as Trajectory
    from .dynamics.body_tree import BodyTree as BodyTree
    from .dynamics.closed_chain import ClosedChain as ClosedChain
    from .dynamics.closed_chain import Loop as Loop
    from .dynamics.derivatives import Derivative as Derivative
    from .dynamics.derivatives import differentiate as differentiate
    from .dynamics.derivatives import DynamicsDerivatives as DynamicsDerivatives
    from .dynamics.derivatives import Linearization as Linearization
    from .dynamics.derivatives import linearize as linearize
    from .dynamics.derivatives import TreeMotion as TreeMotion
    from .dynamics.model import DynamicsModel as DynamicsModel
    from .dynamics.model import GRAVITY as GRAVITY
    from .dynamics.model import TorqueDerivatives as TorqueDerivatives
    from .dynamics.newton_euler import NewtonEulerModel as NewtonEulerModel
    from .dynamics.pinocchio_model import PinocchioModel as Model  # noqa: F401
    from .dynamics.product_of_exponentials import ExponentialsModel as ExponentialsModel
    from .dynamics.regressor import parameter_names as parameter_names
    from .dynamics.regressor import parameter_vector as parameter_vector
    from .dynamics.regressor import torque_regressor as torque_regressor
    from .dynamics.space_inertia import space_inertias as space_inertias
    from .dynamics.space_inertia import SpaceInertia as SpaceInertia
    from .errors import FrankaDynamicsError as FrankaDynamicsError
    from .identification.bags import Bag as Bag
    from .identification.base_parameters import base_parameters as base_parameters
    from .identification.base_parameters import BaseParameters as BaseParameters
    from .identification.base_parameters import RankGap as RankGap
    from .identification.direct_method import direct_base_parameters as direct_base_parameters
    from .identification.energy_regressors import energy_regressors as energy_regressors
    from .identification.identify import Identification as Identification
    from .identification.identify import identify as identify
    from .identification.options import IdentificationOptions as IdentificationOptions
    from .identification.payload import identify_payload as identify_payload
    from .identification.payload import PayloadEstimate as PayloadEstimate
    from .identification.relations import Relation as Relation
    from .identification.torque_model import FrictionTerms as FrictionTerms
    from .identification.torque_model import TorqueModel as TorqueModel
    from .mesh.mesh import mesh_inertia as mesh_inertia
    from .mesh.mesh import TriangleMesh as TriangleMesh
    from .mesh.mesh_file import load_mesh as load_mesh
    from .mesh.mesh_file import MeshFile as MeshFile
    from .recordings.preprocessing import Motion as Motion
    from .recordings.preprocessing import prepare as prepare
    from .recordings.preprocessing import SignalOptions as SignalOptions
    from .recordings.recording import read_recording as read_recording
    from .recordings.recording import Recording as Recording
    from .recordings.recording import write_recording as write_recording
    from .urdf.document import read_urdf as read_urdf
    from .urdf.importer import import_urdf as import_urdf
    from .urdf.importer import ImportedArm as ImportedArm
    from .urdf.serial_chain import ChainJoint as ChainJoint
    from .urdf.serial_chain import SerialChain as SerialChain
    from .urdf.source import load as load
    from .urdf.writer import write_mjcf as write_mjcf
    from .urdf.writer import write_urdf as write_urdf
    from .validation.comparison import Comparison as Comparison
    from .validation.crosscheck import Agreement as Agreement
    from .validation.crosscheck import compare_formulations as compare_formulations
    from .validation.crosscheck import crosscheck as crosscheck
    from .validation.effect import Difference as Difference
    from .validation.effect import JointEffect as JointEffect
    from .validation.source import compare as compare

__version__ = '0.2.0'

__getattr__, __dir__ = lazy_exports(__name__)
