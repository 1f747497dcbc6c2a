# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The methods of all models that evaluate generated equations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame, frame_place
from ..arm_io import as_description
from ..arrays import broadcast_state_shape
from ..codegen.equations import function_signature, Quantity
from ..dynamics.body_tree import BodyTree
from ..dynamics.model import (
    AccelerationDerivatives,
    gravity_vector,
    TorqueDerivatives,
)
from ..dynamics.regressor import chosen_columns, LINK_PARAMETERS
from ..errors import FrameError, JointVectorError


class GeneratedModel(ABC):
    """
    Base class of models that evaluate generated equations, with the methods of `fd.Model`.

    Arguments are arrays of shape (..., n), a wrench (..., 6), whose leading axes broadcast; a
    state with a value that is not finite gives NaN in this state's result alone. `xp` is the
    array library of arguments and results.
    """

    xp: Any

    def __init__(
        self, description: ArmDescription | BodyTree | str | Path, gravity: ArrayLike
    ) -> None:
        self.description: ArmDescription | BodyTree = (
            description if isinstance(description, BodyTree) else as_description(description)
        )
        self._gravity = tuple(gravity_vector(gravity).tolist())

    @abstractmethod
    def evaluate(
        self, quantity: Quantity, *arrays: Any, columns: tuple[int, ...] | None = None
    ) -> Any:
        """Return a quantity at states (..., n), as an array of the same library."""

    def _read(self, values: Any) -> Any:
        """Return an argument as an array of the library `xp`; ValueError or TypeError if none."""
        return self.xp.asarray(values)

    def _states(
        self, quantity: Quantity, given: Sequence[Any]
    ) -> tuple[list[Any], tuple[int, ...]]:
        """
        Return a quantity's arguments as arrays of real numbers, and their broadcast leading axes.

        Raises
        ------
        JointVectorError
            If one is no array of real numbers of shape (..., n), or the leading axes do not
            broadcast; the message names the argument.

        """
        found = {}
        for name, values in zip(function_signature(quantity, self.description.n).arrays, given):
            try:
                found[name] = self._read(values)
            except (TypeError, ValueError, RuntimeError) as error:
                # Also rows of different lengths, tensors on another device or with a gradient.
                raise JointVectorError(f'{name} is not an array of numbers: {error}') from error
            dtype = found[name].dtype
            if getattr(dtype, 'kind', '') not in ('i', 'u', 'f') and 'float' not in str(dtype):
                raise JointVectorError(f'{name} has the type {dtype}; it must hold real numbers.')
        shapes = {name: tuple(array.shape) for name, array in found.items()}
        return list(found.values()), broadcast_state_shape(shapes, self.description.joint_names)

    def inverse_dynamics(self, q: Any, dq: Any, ddq: Any, wrench: Any = None) -> Any:
        """Return the torque M ddq + C dq + g - J^T w for a flange wrench w, (..., n) [N m]."""
        torque = self.evaluate(Quantity.INVERSE_DYNAMICS, q, dq, ddq)
        return torque if wrench is None else torque - self._wrench_torque(q, wrench)

    def forward_dynamics(self, q: Any, dq: Any, tau: Any, wrench: Any = None) -> Any:
        """Return ddq = M^-1 (tau - C dq - g + J^T w), flange wrench w, (..., n) [rad/s^2]."""
        if wrench is not None:
            tau = self.xp.asarray(tau) + self._wrench_torque(q, wrench)
        return self.evaluate(Quantity.FORWARD_DYNAMICS, q, dq, tau)

    def nonlinear_effects(self, q: Any, dq: Any) -> Any:
        """Return Coriolis plus gravity torques C dq + g, shape (..., n) [N m]."""
        return self.evaluate(Quantity.NONLINEAR_EFFECTS, q, dq)

    def coriolis(self, q: Any, dq: Any) -> Any:
        """Return Coriolis torques C dq, shape (..., n) [N m]."""
        return self.evaluate(Quantity.CORIOLIS, q, dq)

    def gravity(self, q: Any) -> Any:
        """Return gravity torques g, shape (..., n) [N m]."""
        return self.evaluate(Quantity.GRAVITY, q)

    def mass_matrix(self, q: Any) -> Any:
        """Return mass matrices M, rotors included, shape (..., n, n) [kg m^2]."""
        return self.evaluate(Quantity.MASS_MATRIX, q)

    def coriolis_matrix(self, q: Any, dq: Any) -> Any:
        """Return Coriolis matrices C (Christoffel; dM/dt = C + C^T), (..., n, n) [N m s/rad]."""
        return self.evaluate(Quantity.CORIOLIS_MATRIX, q, dq)

    def kinetic_energy(self, q: Any, dq: Any) -> Any:
        """Return the kinetic energy 1/2 dq^T M dq, rotors included, shape (...) [J]."""
        rates = self.xp.asarray(dq)
        return 0.5 * self.xp.einsum('...i,...ij,...j->...', rates, self.mass_matrix(q), rates)

    def inverse_dynamics_derivatives(self, q: Any, dq: Any, ddq: Any) -> TorqueDerivatives:
        """
        Return the derivatives of `inverse_dynamics` by q, dq and ddq (by ddq: M), (..., n, n).

        The derivatives by position [N m/rad], velocity [N m s/rad] and acceleration [kg m^2] are
        views of one array of shape (..., 3, n, n). Row i of each matrix belongs to torque i.
        """
        derivatives = self.evaluate(Quantity.DERIVATIVES, q, dq, ddq)
        return TorqueDerivatives(*(derivatives[..., k, :, :] for k in range(3)))

    def forward_dynamics_derivatives(self, q: Any, dq: Any, tau: Any) -> AccelerationDerivatives:
        """
        Return the derivatives of `forward_dynamics` by q, dq and tau (by tau: M^-1), (..., n, n).

        Units are 1/s^2, 1/s and 1/(kg m^2); row i belongs to acceleration i.
        """
        ddq = self.forward_dynamics(q, dq, tau)
        by_q, by_dq, M = self.inverse_dynamics_derivatives(q, dq, ddq)
        inverse = self.xp.linalg.inv(M)
        return AccelerationDerivatives(-(inverse @ by_q), -(inverse @ by_dq), inverse)

    def regressor(self, q: Any, dq: Any, ddq: Any, *, columns: Sequence[int] | None = None) -> Any:
        """
        Return the regressor H of tau = H X, shape (..., n, 10 n), X the inertial parameters.

        H's columns are in the order of `parameter_names`: XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m
        of each link, about the origin of its DH frame (Gautier and Khalil 1990, eqs. 3 and 12),
        without rotors. At seven joints H takes 3.9 kB per state in float64. `columns` selects
        columns of H, shape (..., n, len(columns)); for the regressor of the base parameters give
        `base_parameters(arm, rotor_inertia=False).columns`. Each selection of columns is compiled
        separately.

        Raises
        ------
        BaseParameterError
            If a column is not one of the 10 n, or is named twice.

        """
        chosen = chosen_columns(columns, LINK_PARAMETERS * self.description.n)
        return self.evaluate(Quantity.REGRESSOR, q, dq, ddq, columns=chosen)

    def flange_pose(self, q: Any) -> Any:
        """Return the flange's poses in the space frame, shape (..., 4, 4)."""
        return self.evaluate(Quantity.FLANGE_POSE, q)

    def jacobian(
        self, q: Any, frame: Frame = FLANGE, reference_frame: str = 'LOCAL_WORLD_ALIGNED'
    ) -> Any:
        """
        Return the flange's Jacobians in LOCAL_WORLD_ALIGNED, shape (..., 6, n).

        Rows: velocity of the flange's origin, angular velocity of the flange. `fd.Model` has the
        Jacobians of other frames, and in other axes.

        Raises
        ------
        FrameError
            If another frame or reference frame is asked for.

        """
        flange = frame is FLANGE
        if not (flange or isinstance(self.description, BodyTree)):
            own, given = (frame_place(one, self.description) for one in (FLANGE, frame))
            flange = own.joint == given.joint and np.array_equal(own.pose, given.pose)
        if not flange or reference_frame != 'LOCAL_WORLD_ALIGNED':
            raise FrameError(
                f'There is no Jacobian of frame {frame!r} in {reference_frame} here: models of '
                "generated equations have the flange's in LOCAL_WORLD_ALIGNED; franka_dynamics."
                'Model has every frame.'
            )
        return self.evaluate(Quantity.JACOBIAN, q)

    def _wrench_torque(self, q: Any, wrench: Any) -> Any:
        """Return J^T w, shape (..., n)."""
        forces = self.xp.asarray(wrench)
        if tuple(forces.shape[-1:]) != (6,):
            raise JointVectorError(
                f'wrench has shape {tuple(forces.shape)}, expected (..., 6): force [N] then '
                'moment [N m] on the flange, in the axes of the space frame.'
            )
        return self.xp.einsum('...ai,...a->...i', self.jacobian(q), forces)
