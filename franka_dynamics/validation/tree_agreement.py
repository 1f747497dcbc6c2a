# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF's tree by this package's formulations and by Pinocchio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .pinocchio_urdf import PinocchioUrdf
from ..dynamics.derivatives import tree_motion
from ..dynamics.model import GRAVITY
from ..dynamics.tree_regressor import tree_parameter_vector, tree_regressor
from ..dynamics.urdf_tree import tree_from_urdf
from ..typing import Array

_TOLERANCE = 1e-9  # of the largest torque of Pinocchio's, or 1 N m


@dataclass(frozen=True)
class TreeAgreement:
    """
    Largest differences from Pinocchio's torques over random states [N m or N].

    `recursion` is Kwon's recursion of a tree of bodies, `regressor` the regressor times the
    standard parameters, `symmetry` how far the mass matrix of the recursion's torques is from its
    transpose [kg m^2]; `largest` is Pinocchio's largest torque.
    """

    joints: tuple[str, ...]
    states: int
    recursion: float
    regressor: float
    symmetry: float
    largest: float

    @property
    def tolerance(self) -> float:
        """What a difference may be [N m]."""
        return _TOLERANCE * max(1.0, self.largest)

    @property
    def passed(self) -> bool:
        """Whether nothing differs by more."""
        return max(self.recursion, self.regressor, self.symmetry) <= self.tolerance


def compare_tree(
    urdf: str,
    source: str = 'the URDF',
    *,
    gravity: ArrayLike = GRAVITY,
    count: int = 200,
    seed: int = 0,
) -> TreeAgreement:
    """
    Return how a tree read here agrees with Pinocchio's reading of the same text.

    Parameters
    ----------
    urdf, source : str
        The text, and what messages call it.
    gravity : array_like, shape (3,)
        In the frame of the root link [m/s^2].
    count, seed : int
        Random states of up to 2 rad or m, and per s and s^2.

    Raises
    ------
    UrdfError
        As `tree_from_urdf`, or if Pinocchio cannot read it.

    """
    tree = tree_from_urdf(urdf, source)
    theirs = PinocchioUrdf(urdf, tree.names, gravity)
    q, dq, ddq = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, tree.n))
    expected = theirs.inverse_dynamics(q, dq, ddq)
    product = tree_regressor(tree, q, dq, ddq, gravity) @ tree_parameter_vector(tree)
    still = np.zeros(tree.n)
    columns = [
        tree_motion(tree, q[0], still, unit, gravity=np.zeros(3)).tau for unit in np.eye(tree.n)
    ]
    mass = np.array(columns)
    return TreeAgreement(
        tree.names,
        count,
        _largest(tree_motion(tree, q, dq, ddq, gravity=gravity).tau - expected),
        _largest(product - expected),
        _largest(mass - mass.T),
        _largest(expected),
    )


def _largest(array: Array) -> float:
    return float(np.abs(array).max())
