# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What recorded motion says about an arm."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .bags import Bag as Bag
    from .base_parameters import BaseParameters as BaseParameters
    from .excitation import Excitation as Excitation
    from .excitation import optimise as optimise
    from .excitation_problem import ExcitationLimits as ExcitationLimits
    from .excitation_problem import ExcitationProblem as ExcitationProblem
    from .fourier_trajectory import FourierTrajectory as FourierTrajectory
    from .identify import Identification as Identification
    from .options import IdentificationOptions as IdentificationOptions
    from .payload import identify_payload as identify_payload
    from .payload import PayloadEstimate as PayloadEstimate
    from .torque_model import TorqueModel as TorqueModel
    from .verdict import Score as Score

__getattr__, __dir__, __all__ = lazy_exports(__name__)
