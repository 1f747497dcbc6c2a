# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Table 1 of Gautier and Khalil 1990, every case written by this generator as well.

The general robot has six revolute joints of any geometry, drawn from a seed; the table does not
say how gravity lies, so that it stands once for any direction and once for that of axis 1. Of the
Stanford and SCEMI arms the general case has no inertial parameter equal to zero, and the
simplified one diagonal tensors, one first moment a link, motor inertias and terminal forces; so
rotors and a terminal wrench are there in the simplified cases, and only there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .emit import operation_count, OperationCount
from .equations import customised_equations
from ..arm import ArmDescription, Convention, DHRow, JointKind, load
from ..arm.sampling import random_arm

CLASSICAL, MINIMUM = 'classical parameters', 'minimum parameters'
GENERAL, SIMPLIFIED = 'general', 'simplified'

_ARMS = {
    ('stanford', CLASSICAL, GENERAL): OperationCount(291, 284),
    ('stanford', CLASSICAL, SIMPLIFIED): OperationCount(193, 149),
    ('stanford', MINIMUM, GENERAL): OperationCount(232, 218),
    ('stanford', MINIMUM, SIMPLIFIED): OperationCount(142, 99),
    ('scemi', CLASSICAL, GENERAL): OperationCount(294, 283),
    ('scemi', CLASSICAL, SIMPLIFIED): OperationCount(201, 152),
    ('scemi', MINIMUM, GENERAL): OperationCount(253, 238),
    ('scemi', MINIMUM, SIMPLIFIED): OperationCount(159, 113),
}


def general_robot(n: int, parameters: str) -> OperationCount:
    """
    Return the table's formulas for any robot of n revolute joints.

    They are the printed ones: for n = 6 the table's own entry, 477 multiplications with
    classical parameters, is two less than its formula.
    """
    if parameters == CLASSICAL:
        return OperationCount(101 * n - 127, 90 * n - 118)
    return OperationCount(92 * n - 127, 81 * n - 117)


def printed(arm: str, parameters: str, inertia: str) -> OperationCount | None:
    """Return the table's entry for one of its two arms; None for any other arm."""
    return _ARMS.get((arm, parameters, inertia))


GENERAL_ROBOT, UPRIGHT_ROBOT = 'any 6R', 'any 6R, g along axis 1'
_ROTOR = 0.1  # kg m^2 or kg, times the joint's number, so that no two are equal


@dataclass(frozen=True)
class Case:
    """One entry: `loaded` says whether rotors and a terminal wrench are taken into account."""

    robot: str
    inertia: str
    parameters: str
    loaded: bool
    printed: OperationCount


def _cases() -> tuple[Case, ...]:
    cases = [
        Case(robot, GENERAL, parameters, False, general_robot(6, parameters))
        for robot in (GENERAL_ROBOT, UPRIGHT_ROBOT)
        for parameters in (CLASSICAL, MINIMUM)
    ]
    for robot in ('stanford', 'scemi'):
        for inertia in (GENERAL, SIMPLIFIED):
            for parameters in (CLASSICAL, MINIMUM):
                entry = printed(robot, parameters, inertia)
                assert entry is not None
                cases.append(Case(robot, inertia, parameters, inertia == SIMPLIFIED, entry))
    return tuple(cases)


CASES = _cases()


def case_arm(case: Case) -> ArmDescription:
    """Return the arm of a case, with rotors where it has them."""
    if case.robot in (GENERAL_ROBOT, UPRIGHT_ROBOT):
        arm = random_arm(
            np.random.default_rng(0),
            joints=6,
            convention=Convention.MODIFIED,
            kinds=(JointKind.REVOLUTE,),
        )
        # Motor inertias are mentioned for the simplified robots only.
        joints = [replace(joint, rotor_inertia=0.0) for joint in arm.joints]
        if case.robot == UPRIGHT_ROBOT:
            joints[0] = replace(joints[0], row=DHRow())
            arm = replace(arm, base=np.eye(4))
        return replace(arm, joints=tuple(joints))
    arm = load(case.robot, SIMPLIFIED if case.inertia == SIMPLIFIED else 'chosen')
    if not case.loaded:
        return arm
    motors = (
        replace(joint, rotor_inertia=joint.rotor_inertia or _ROTOR * number)
        for number, joint in enumerate(arm.joints, start=1)
    )
    return replace(arm, joints=tuple(motors))


def count(case: Case) -> OperationCount:
    """Return the operations of this generator's code for a case."""
    return operation_count(
        customised_equations(
            case_arm(case),
            terminal_wrench=case.loaded,
            search=True,
            classical=case.parameters == CLASSICAL,
        ).program
    )
