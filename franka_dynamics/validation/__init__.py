# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Is this description, URDF or torque that arm? Cross-check, comparison, fault search."""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .agreement import Agreement as Agreement
    from .agreement import compare_formulations as compare_formulations
    from .comparison import compare as compare
    from .comparison import Comparison as Comparison
    from .crosscheck import build as build
    from .crosscheck import consensus as consensus
    from .crosscheck import CrosscheckReport as CrosscheckReport
    from .crosscheck import evaluate as evaluate
    from .fault_search import FaultSearch as FaultSearch
    from .fault_search import search_faults as search_faults
    from .source import read_pair as read_pair
    from .torque_effect import Difference as Difference
    from .urdf_check import model_from_urdf as model_from_urdf
    from .urdf_check import UrdfModel as UrdfModel
    from .urdf_check import UrdfVerdict as UrdfVerdict

__getattr__, __dir__, __all__ = lazy_exports(__name__)
