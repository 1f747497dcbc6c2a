# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The ten inertial parameters of a rigid link, and the repair of physically inconsistent ones.

Each number of a printed table may be off by half a unit of its last decimal. The nearest physical
parameters within half a unit of the last decimal solve a convex problem, because the
pseudo-inertia is linear in the ten parameters about the frame origin (Wensing, Kim, Slotine 2018,
section III).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np

from ..arrays import Array, ArrayLike, as_array, freeze_arrays
from ..errors import InertiaError
from ..semidefinite import nonnegative_cone, psd_cone, quadratic_minimiser
from ..spatial import as_rigid_transform, hat

# Smallest eigenvalue of a repaired pseudo-inertia, as a multiple of `rounding`: large enough to
# stay positive after the solver's error and the rounding of numbers in a URDF (15 decimals).
_MIN_EIGENVALUE_TO_ROUNDING = 1e-3
# Order of a symmetric tensor's six elements; the package `mesh`, Pinocchio and MJCF have others.
TENSOR_ORDER = ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')
# Order and symbols of a link's ten parameters in regressors and identification (Gautier and Khalil
# 1990, eq. (3)): inertia about the frame's origin, first moment, mass.
PARAMETER_SYMBOLS = ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'mX', 'mY', 'mZ', 'm')
_TENSOR_ROWS = (0, 0, 0, 1, 1, 2)
_TENSOR_COLUMNS = (0, 1, 2, 1, 2, 2)
# Rounding error of the eigenvalue solver, relative to the largest entry of the pseudo-inertia.
_EIGENVALUE_ROUNDING_TO_LARGEST = 1e-12
# A link heavier than _MAX_POINT_MASS_KG and denser than osmium, the densest metal, counts as
# impossible: its mass is probably in grams. A lighter link may be a point mass, or carry one as
# payload.
_MAX_POINT_MASS_KG = 1000.0
_MAX_DENSITY_KG_M3 = 22_600.0  # [kg/m^3]


def tensor_from_elements(elements: ArrayLike) -> Array:
    """Return the symmetric (3, 3) tensor whose elements xx, xy, xz, yy, yz, zz are given."""
    words = f'An inertia tensor in the order {", ".join(TENSOR_ORDER)}'
    tensor = np.empty((3, 3))
    values = as_array(elements, (6,), words, InertiaError)
    tensor[_TENSOR_ROWS, _TENSOR_COLUMNS] = tensor[_TENSOR_COLUMNS, _TENSOR_ROWS] = values
    return tensor


def elements_from_tensor(tensor: ArrayLike) -> Array:
    """Return xx, xy, xz, yy, yz, zz of a symmetric (3, 3) tensor."""
    return np.asarray(tensor, dtype=float)[_TENSOR_ROWS, _TENSOR_COLUMNS]


def parallel_axis_term(mass: float, offset: ArrayLike) -> Array:
    """Return the parallel axis term m (|c|^2 1 - c c^T) of a mass at `offset` c [m], (3, 3)."""
    c = np.asarray(offset, dtype=float)
    return mass * (c @ c * np.eye(3) - np.outer(c, c))


@dataclass(frozen=True, eq=False)
class LinkInertia:
    """
    Mass, first moment and inertia of a link about its frame's origin, in the frame's axes.

    The equations of motion are linear in a link's ten parameters (Gautier and Khalil 1990, eq. 3),
    and the parameters of two rigidly joined bodies add.

    Parameters
    ----------
    mass : float
        Mass [kg].
    first_moment : array_like, shape (3,)
        Mass times centre of mass, in the link frame [kg m].
    inertia : array_like, shape (3, 3)
        Inertia tensor about the ORIGIN of the link frame, in its axes [kg m^2].

    Raises
    ------
    InertiaError
        If a shape is wrong, a number is not finite, or the tensor is not symmetric.

    """

    mass: float
    first_moment: Array
    inertia: Array

    def __post_init__(self) -> None:
        """Check shapes and the tensor's symmetry (InertiaError), and freeze the arrays."""
        freeze_arrays(self, InertiaError, 'a link', mass=(), first_moment=(3,), inertia=(3, 3))
        object.__setattr__(self, 'mass', float(self.mass))
        # A small tensor may be the difference of larger ones, and has their rounding errors.
        scale = max(1.0, float(np.abs(self.inertia).max()))
        if np.abs(self.inertia - self.inertia.T).max() > 1e-12 * scale:
            raise InertiaError(f'An inertia tensor is symmetric; got {self.inertia.tolist()}.')

    @classmethod
    def zero(cls) -> 'LinkInertia':
        """Return a link whose ten parameters are zero."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    @classmethod
    def from_center_of_mass(
        cls, mass: float, center_of_mass: ArrayLike, inertia: ArrayLike
    ) -> 'LinkInertia':
        """
        Return a link from its mass, centre of mass and inertia about the centre of mass.

        Parameters
        ----------
        mass : float
            Mass [kg].
        center_of_mass : array_like, shape (3,)
            Centre of mass in the link frame [m].
        inertia : array_like, shape (3, 3) or (6,)
            Tensor about the centre of mass in the link frame's axes [kg m^2]; six numbers are
            read as xx, xy, xz, yy, yz, zz.

        """
        center = as_array(center_of_mass, (3,), 'A centre of mass', InertiaError)
        tensor = as_array(inertia, (...,), 'An inertia tensor', InertiaError)
        tensor = tensor_from_elements(tensor) if tensor.ndim == 1 else tensor
        tensor = as_array(tensor, (3, 3), 'An inertia tensor', InertiaError)
        mass = float(as_array(mass, (), 'A mass', InertiaError))
        return cls(mass, mass * center, tensor + parallel_axis_term(mass, center))

    @property
    def center_of_mass(self) -> Array:
        """Centre of mass in the link frame [m]; the origin for a massless link."""
        return self.first_moment / self.mass if self.mass != 0.0 else np.zeros(3)

    @property
    def inertia_at_center_of_mass(self) -> Array:
        """Inertia tensor about the centre of mass, in the link frame's axes, (3, 3) [kg m^2]."""
        return self.inertia - parallel_axis_term(self.mass, self.center_of_mass)

    def expressed_in(self, transform: ArrayLike) -> 'LinkInertia':
        """
        Return the inertial parameters in another frame, where this frame has pose `transform`.

        Parameters
        ----------
        transform : array_like, shape (4, 4)
            Pose (R, p) of the link's present frame in the other frame: x_other = R x + p.

        Raises
        ------
        InertiaError
            If `transform` is no rigid motion.

        """
        matrix = as_rigid_transform(transform)
        rotation = matrix[:3, :3]
        origin = matrix[:3, 3]
        h = rotation @ self.first_moment
        inertia = rotation @ self.inertia @ rotation.T
        # The parallel-axis theorem for two points of which neither need be the centre of mass.
        products = np.outer(h, origin)
        moved = 2.0 * (h @ origin) * np.eye(3) - products - products.T
        moved += parallel_axis_term(self.mass, origin)
        tensor = inertia + moved
        return LinkInertia(self.mass, h + self.mass * origin, 0.5 * (tensor + tensor.T))

    def __add__(self, other: 'LinkInertia') -> 'LinkInertia':
        """Return two rigidly joined bodies as one; both must be described in the same frame."""
        return LinkInertia.from_parameters(self.parameters() + other.parameters())

    def __sub__(self, other: 'LinkInertia') -> 'LinkInertia':
        """Return what remains of this body without `other`, described in the same frame."""
        return LinkInertia.from_parameters(self.parameters() - other.parameters())

    def __eq__(self, other: object) -> bool:
        """Return whether two links have exactly the same ten parameters."""
        own = self.parameters()
        return isinstance(other, LinkInertia) and np.array_equal(own, other.parameters())

    def __hash__(self) -> int:
        """Return a hash of the ten parameters."""
        return hash(tuple(self.parameters().tolist()))  # by value: -0.0 equals 0.0

    def parameters(self) -> Array:
        """
        Return (xx, xy, xz, yy, yz, zz, hx, hy, hz, m), shape (10,), about the frame's origin.

        Regressors, base parameters and generated code have this order, too: PARAMETER_SYMBOLS.
        """
        return np.concatenate((elements_from_tensor(self.inertia), self.first_moment, [self.mass]))

    @classmethod
    def from_parameters(cls, parameters: Sequence[float] | Array) -> 'LinkInertia':
        """Return the link whose `parameters()` are given, shape (10,)."""
        words = f'The ten inertial parameters of a link, {", ".join(PARAMETER_SYMBOLS)},'
        values = as_array(parameters, (10,), words, InertiaError)
        return cls(values[9], values[6:9], tensor_from_elements(values[:6]))

    def pseudo_inertia(self) -> Array:
        """
        Return the (4, 4) pseudo-inertia, positive semidefinite for every real body.

        The blocks of the pseudo-inertia are the second moment 1/2 tr(I) 1 - I, the first moment
        and the mass (Wensing, Kim, Slotine 2018, "Linear matrix inequalities for physically
        consistent inertial parameter identification", eq. 10).
        """
        pseudo = np.empty((4, 4))
        pseudo[:3, :3] = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia
        pseudo[:3, 3] = pseudo[3, :3] = self.first_moment
        pseudo[3, 3] = self.mass
        return pseudo

    def spatial_inertia(self) -> Array:
        """
        Return the (6, 6) inertia about the frame's origin, acting on twists (v, omega).

        It is [[m 1, -[h]], [[h], J]], with mass m, first moment h and inertia J about the origin.
        """
        moment = hat(self.first_moment)
        return np.block([[self.mass * np.eye(3), -moment], [moment, self.inertia]])

    def consistency_margin(self) -> float:
        """Return the pseudo-inertia's smallest eigenvalue; if negative, no such body exists."""
        return float(np.linalg.eigvalsh(self.pseudo_inertia())[0])

    def triangle_margin(self) -> float:
        """Return A + B - C of the principal moments at the centre of mass, C largest [kg m^2]."""
        low, middle, high = np.linalg.eigvalsh(self.inertia_at_center_of_mass)
        return float(low + middle - high)

    def equivalent_ball_density(self) -> float:
        """
        Return the density [kg/m^3] of the homogeneous ball with this mass m and trace of I.

        I is the inertia tensor about the centre of mass; a homogeneous ball of mass m and radius r
        has tr(I)/2 = 3/5 m r^2. Every other body with this m and tr(I) is denser somewhere. Where
        tr(I) is not positive, there is no ball, and the density infinite.
        """
        square = np.trace(self.inertia_at_center_of_mass) / (2.0 * self.mass)
        if square <= 0.0:
            return math.inf
        return float(self.mass / (4.0 / 3.0 * math.pi * (5.0 / 3.0 * square) ** 1.5))

    def is_physical(self) -> bool:
        """Return whether a body of nowhere negative density can have the link's ten parameters."""
        scale = float(np.abs(self.pseudo_inertia()).max())
        return self.consistency_margin() >= -_EIGENVALUE_ROUNDING_TO_LARGEST * scale

    def inconsistency(self) -> str:
        """Return why no real body can have these parameters, as words after 'is', or ''."""
        return self._inconsistency

    @cached_property  # because each model of an arm asks for it
    def _inconsistency(self) -> str:
        """Why no real body can have these parameters, as words after 'is'; '' if one can."""
        if self.is_physical():
            density = self.equivalent_ball_density() if self.mass > _MAX_POINT_MASS_KG else 0.0
            if density <= _MAX_DENSITY_KG_M3:
                return ''
            return f'denser than any metal, as if in grams: {self.mass:g} kg, {density:.3g} kg/m^3'
        margin = self.consistency_margin()
        reason = f'not physical: its pseudo-inertia has an eigenvalue of {margin:.3g}'
        if (missing := -self.triangle_margin()) > 0.0:
            amount = f'{missing:.3g} kg m^2'
            reason += f' and its principal moments miss the triangle inequality by {amount}'
        return reason


def repaired_link(link: LinkInertia, rounding: float, *, name: str = 'the link') -> LinkInertia:
    """
    Return the nearest physical link, each parameter within `rounding`; InertiaError if none is.

    The sum of the squared changes of the ten parameters about the frame origin is minimal, and no
    parameter changes by more than `rounding` [kg, kg m, kg m^2]. A physical link is returned
    unchanged. `name` is the link's name in error messages.

    Raises
    ------
    InertiaError
        If no physical link lies within the rounding.
    MissingDependencyError
        If clarabel, which solves the problem, is not installed.

    """
    if link.is_physical():
        return link
    if not rounding > 0.0:
        raise InertiaError(f'The rounding of {name} is {rounding}; it must be above zero.')
    # The unknowns are changes of the ten parameters, in units of the rounding.
    units = [LinkInertia.from_parameters(unit).pseudo_inertia() for unit in np.eye(10)]
    least = link.pseudo_inertia() / rounding - _MIN_EIGENVALUE_TO_ROUNDING * np.eye(4)
    within = nonnegative_cone(1.0, np.concatenate([np.eye(10), -np.eye(10)]))
    constraints = [psd_cone(least, np.stack(units, axis=-1)), within]
    moves = quadratic_minimiser(2.0 * np.eye(10), np.zeros(10), constraints)
    if moves is not None:
        moved = rounding * np.clip(moves, -1.0, 1.0)
        repaired = LinkInertia.from_parameters(link.parameters() + moved)
        if repaired.is_physical():
            return repaired
    raise InertiaError(
        f'No real body lies within the rounding of {name}: its pseudo-inertia has an eigenvalue '
        f'of {link.consistency_margin():.3g}, and moving its numbers by at most '
        f'{rounding:.3g} does not fix that: their error is larger. '
        'Choose another inertial set.'
    )
