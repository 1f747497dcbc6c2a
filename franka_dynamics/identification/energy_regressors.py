# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy, linear in the inertial parameters: E = DE X and U = DU X."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from ..arm import ArmDescription, LinkInertia
from ..arm_io import as_description
from ..dynamics.model import broadcast_states, GRAVITY
from ..dynamics.pinocchio_builder import PINOCCHIO_PARAMETER_ORDER
from ..dynamics.pinocchio_model import PinocchioModel
from ..dynamics.regressor import N_LINK_PARAMETERS
from ..typing import Array


def energy_regressors(
    description: ArmDescription | str | Path,
    q: ArrayLike,
    dq: ArrayLike,
    gravity: ArrayLike = GRAVITY,
) -> tuple[Array, Array]:
    """
    Return the regressors DE and DU of kinetic and potential energy, (..., 10 n) each.

    They are those of Gautier and Khalil 1990, eq. 10 and 11. Pinocchio computes both. A body of
    mass m, first moment m c, inertia J about the origin of its frame and twist (v, omega), all in
    its own frame, has the kinetic energy 1/2 omega' J omega + 1/2 m v' v + v' (omega x m c) and,
    with its centre of mass at p_c in the space frame, the potential energy -m g' p_c.

    `description` is the arm, or its name or file; only its geometry is used. `q` and `dq` (..., n)
    are positions and velocities in joint order [rad or m, and per s], `gravity` (3,) is in the
    space frame [m/s^2].

    DE and DU have shape (..., 10 n), with columns in the order of
    `dynamics.regressor.parameter_names`. U is zero for masses at the origin of the space frame.
    Rotors are not included; they would add 1/2 Ia_i dq_i^2 to E and nothing to U. Raises
    JointVectorError if a vector has the wrong shape or a value is not finite.
    """
    description = as_description(description)
    links = (LinkInertia.zero(),) * description.n
    arm = PinocchioModel(replace(description, links=links), gravity)
    stacks = broadcast_states(description, q=q, dq=dq)
    shape = stacks[0].shape[:-1]
    found = np.zeros((2, *shape, description.n, N_LINK_PARAMETERS))
    for at in np.ndindex(shape):
        position, velocity = (stack[at] for stack in stacks)
        kinetic = pin.computeKineticEnergyRegressor(arm.model, arm.data, position, velocity)
        potential = pin.computePotentialEnergyRegressor(arm.model, arm.data, position)
        for energy, row in enumerate((kinetic, potential)):
            found[(energy, *at)][:, PINOCCHIO_PARAMETER_ORDER] = row.reshape(-1, N_LINK_PARAMETERS)
    # Pinocchio's columns are for parameters in the joints' frames. In the standard convention
    # these are not the DH frames.
    for i, (_, offset) in enumerate(description.joint_placements()):
        moved = [
            LinkInertia.from_parameters(one).expressed_in(offset).parameters()
            for one in np.eye(N_LINK_PARAMETERS)
        ]
        found[..., i, :] = found[..., i, :] @ np.transpose(moved)
    DE, DU = found.reshape(2, *shape, -1)
    return DE, DU
