# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas evaluated as their text reads, and compared with what the numeric models say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from types import CodeType
from typing import Any

import numpy as np
import sympy as sp

from .rendering import Formula, Section
from ..arm import ArmDescription
from ..dynamics.model import DynamicsModel
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import InertiaError
from ..typing import Array

_FUNCTIONS = {
    'sin': math.sin,
    'cos': math.cos,
    'sqrt': math.sqrt,
    'atan2': math.atan2,
    'sign': np.sign,
    'pi': math.pi,
}
# What a formula should be at each of the states.
Expected = Callable[[int], Any]


@dataclass(frozen=True)
class CheckedDerivation:
    """Sections whose formulas bear notes, how many were compared, and the worst difference."""

    sections: list[Section]
    compared: int
    worst: float


class FormulaChecker:
    """Evaluates formulas as their text reads, in the order in which they are written."""

    def __init__(self, letters: Sequence[dict[str, float]]) -> None:
        self.letters = [{**_FUNCTIONS, **values} for values in letters]
        self.compared, self.worst = 0, 0.0

    def formula(
        self,
        name: str,
        value: sp.Expr | sp.Matrix,
        expected: Expected | None = None,
        against: str = 'Pinocchio',
    ) -> Formula:
        """Return a formula with a note; a scalar's value is known to the formulas after it."""
        matrix = value if isinstance(value, sp.MatrixBase) else sp.Matrix([[value]])
        codes = [compile(str(entry), name, 'eval') for entry in matrix]
        differences = []
        for state, names in enumerate(self.letters):
            numbers = evaluated(codes, names).reshape(matrix.shape)
            if not isinstance(value, sp.MatrixBase):
                names[name] = float(numbers[0, 0])
            if expected is not None:
                reference = np.asarray(expected(state), dtype=float).reshape(matrix.shape)
                scale = max(1.0, float(np.abs(reference).max()))
                differences.append(float(np.abs(numbers - reference).max()) / scale)
        if expected is None:
            return Formula(name, value)
        self.compared += 1
        largest = max(differences)
        self.worst = max(self.worst, largest)
        return Formula(name, value, f'{against}: {largest:.0e}')


def evaluated(codes: Sequence[CodeType], names: dict[str, Any]) -> Array:
    """Return the numbers of compiled expressions, in the order given."""
    return np.array([float(eval(code, {'__builtins__': {}}, names)) for code in codes])


def numeric_model(arm: ArmDescription, gravity: Array) -> DynamicsModel:
    """Return Pinocchio's model, or the recursion in DH frames of links that are no bodies."""
    try:
        return PinocchioModel(arm, gravity)
    except InertiaError:
        return NewtonEulerModel(arm, gravity)
