# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Kinds of faults that a recording may have, with regressor columns and text for the user.

A kind is a subclass of `Fault` in one of the files here: its columns by name, its value in the
user's terms, when it is possible, and its sentence. Other files of `identification` go through
FAULT_CLASSES, and import a kind by its class only where they treat it apart.
"""

from collections.abc import Sequence

from . import checks as checks  # its classes enter themselves in FAULT_CLASSES, as all do
from .fault import CRITICAL_T_VALUE as CRITICAL_T_VALUE
from .fault import Diagnosis as Diagnosis
from .fault import Fault as Fault
from .fault import FAULT_CLASSES as FAULT_CLASSES
from .fault import MIN_HARMFUL_ERROR_RATIO as MIN_HARMFUL_ERROR_RATIO
from .fault import sure_share as sure_share
from .states import StateFault
from ...arrays import Array
from ...fit.torque_samples import TorqueSamples


def possible_faults(n: int) -> list[Fault]:
    """Return each fault of n joints that is looked for by fits; `checks` finds others."""
    return [fault for kind in FAULT_CLASSES.values() for fault in kind.for_joint_count(n)]


def fault_columns(samples: TorqueSamples) -> dict[str, Array]:
    """Return the regressor columns (N, n) of all faults that are looked for by fits, by name."""
    return columns_of(possible_faults(samples.model.n), samples)


def columns_of(faults: Sequence[Fault], samples: TorqueSamples) -> dict[str, Array]:
    """Return the regressor columns (N, n) of `faults`, by name."""
    columns = dict[str, Array]()
    for fault in faults:  # those without columns, or with the model's, add none
        columns.update(zip(fault.column_names, fault.regressor_columns(samples)))
    return columns


def possible_state_faults(n: int) -> list[StateFault]:
    """Return every fault of n joints' recordings that is found by correcting states on trial."""
    return [fault for fault in possible_faults(n) if isinstance(fault, StateFault)]
