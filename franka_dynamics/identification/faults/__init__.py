# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
All kinds of faults that a recording may have, each with its regressor columns and sentence.

A kind is a subclass of `Fault`: its columns by name, its value in the user's terms, when it is
possible, and its sentence. A new kind is listed below. Elsewhere kinds are named only where they
are treated apart: `cross_validation` gives gain, load and offsets to all fits, `published_masses`
has ranges of gain and load, `verdict` treats gravity, force, gain and offset, and `summary` looks
for contacts.
"""

from . import checks, states, torques
from .fault import Diagnosis as Diagnosis
from .fault import Fault as Fault
from .fault import MIN_HARMFUL_ERROR_RATIO as MIN_HARMFUL_ERROR_RATIO

FAULT_CLASSES: dict[str, type[Fault]] = {
    one.kind: one
    for one in (
        *(torques.Gain, torques.GainDrift, torques.OneWayGain, torques.Saturation),
        *(torques.Offset, torques.OffsetDrift, torques.ExchangedEfforts),
        *(states.EncoderZero, states.ReversedAxis, states.ExchangedColumns, states.QuarterTurn),
        *(states.EffortDelay, states.VelocityLag, states.TimeScale),
        *(torques.Gravity, torques.Load, torques.LoadChange, torques.Force, torques.ForceChange),
        *(torques.MissingRotors, checks.Contact, checks.DrivingFriction, checks.MassesAtBound),
        *(checks.EffortsNotMeasured, checks.UnexplainedEfforts),
    )
}


def faults_of(n: int) -> list[Fault]:
    """Return every fault that recordings of an arm of n joints may have."""
    return [fault for kind in FAULT_CLASSES.values() for fault in kind.for_joint_count(n)]


def state_faults_of(n: int) -> list[states.StateFault]:
    """Return every `StateFault` that recordings of an arm of n joints may have."""
    return [fault for fault in faults_of(n) if isinstance(fault, states.StateFault)]
