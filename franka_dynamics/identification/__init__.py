# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What recorded motion says about an arm."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .base_parameters import BaseParameters as BaseParameters
    from .cluster import connect as connect
    from .cluster import identify_on_cluster as identify_on_cluster
    from .energy_regressors import link_step as link_step
    from .energy_regressors import LinkStep as LinkStep
    from .excitation import Excitation as Excitation
    from .excitation import optimise as optimise
    from .excitation_problem import ExcitationLimits as ExcitationLimits
    from .excitation_problem import ExcitationProblem as ExcitationProblem
    from .fourier_trajectory import FourierTrajectory as FourierTrajectory
    from .friction import TorqueModel as TorqueModel
    from .geometric_calibration import calibrate as calibrate
    from .geometric_calibration import calibrated_arm as calibrated_arm
    from .geometric_calibration import CalibratedArm as CalibratedArm
    from .geometric_calibration import GeometricCalibration as GeometricCalibration
    from .identify import identify_summary as identify_summary
    from .options import IdentificationOptions as IdentificationOptions
    from .payload import identify_payload as identify_payload
    from .payload import PayloadEstimate as PayloadEstimate
    from .result import Identification as Identification
    from .result import Score as Score

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        'base_parameters': ('BaseParameters',),
        'cluster': (
            'connect',
            'identify_on_cluster',
        ),
        'energy_regressors': (
            'link_step',
            'LinkStep',
        ),
        'excitation': (
            'Excitation',
            'optimise',
        ),
        'excitation_problem': (
            'ExcitationLimits',
            'ExcitationProblem',
        ),
        'fourier_trajectory': ('FourierTrajectory',),
        'friction': ('TorqueModel',),
        'geometric_calibration': (
            'calibrate',
            'calibrated_arm',
            'CalibratedArm',
            'GeometricCalibration',
        ),
        'identify': ('identify_summary',),
        'options': ('IdentificationOptions',),
        'payload': (
            'identify_payload',
            'PayloadEstimate',
        ),
        'result': (
            'Identification',
            'Score',
        ),
    },
)
