# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a URDF or MJCF that `judgements` judges: links with mass, bodies, effort limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .arm_fields import FormatWords
from .inertia import LinkInertia
from ..arrays import Array

# Parts that shapes leave out (screws, cables, half a motor) reach beyond the shape by a length [m]
# and by a share of the shape's largest extent.
_MAX_OVERHANG_OF_SHAPE_M = 0.01
_MAX_OVERHANG_TO_SHAPE_EXTENT = 0.1
# Powers of ten by which a whole tensor is off that is in kg cm^2, kg mm^2, g cm^2 or g mm^2.
_WHOLE_TENSOR_POWERS_OF_TEN = (-4, -6, -7, -9)
_TENSOR_ENTRY_POWERS_OF_TEN = (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6)
_MIN_TO_MAX_SPREAD = 0.1  # of a corrected tensor, relative to the largest spread that shapes allow


class MassSpread(NamedTuple):
    """
    How a link's mass lies in what encloses it.

    `outside` is how far the centre of mass lies outside [m], below 0 inside. `axis` is the
    direction in which the mass spreads most for its surroundings: `deviation` is its standard
    deviation along that axis [m], and `most` the largest one that shape and reach allow there.
    """

    outside: float
    deviation: float
    most: float
    axis: Array


@dataclass(frozen=True, eq=False)
class LinkNumbers:
    """
    The numbers of a link with mass, and what bounds them.

    Attributes
    ----------
    name : str
        Name of the link.
    words : FormatWords
        The file's words for the link's entries.
    mass : float
        Its mass [kg].
    tensor : ndarray, shape (3, 3)
        Its tensor about the centre of mass, in the frame of the <inertial> [kg m^2].
    enclosing_points : ndarray, shape (K, 3)
        Points that enclose it, in the frame of the <inertial> [m]: of all shapes and joints of
        links fixed to each other or, without a shape, the corners of a cube as large as the arm is
        from two joints before the link to two behind it.
    bounds_text : str
        Which of these they are, for a sentence.
    reach : float
        Where no shape is known, the largest distance of the link's joint from the centre of mass
        and from the joints next to it [m]. A body whose mass spreads by more is at least twice as
        long.
    center_to_joint_distance : float
        Distance of the centre of mass from the link's joint [m].
    next_joint_distances : tuple of float
        Distances of the joints behind it from its own [m].
    joint_number, joint_numbers_to_root : int, frozenset of int
        Its joint, and all on which it stands, its own included; 0 and none if no joint moves it.
    has_tensor_of_geoms : bool
        Whether the tensor was computed from shapes, and not stated.

    """

    name: str
    words: FormatWords
    mass: float
    tensor: Array
    enclosing_points: Array
    bounds_text: str = ''
    reach: float = np.inf
    center_to_joint_distance: float = 0.0
    next_joint_distances: tuple[float, ...] = ()
    joint_number: int = 0
    joint_numbers_to_root: frozenset[int] = frozenset()
    has_tensor_of_geoms: bool = False

    @cached_property
    def spread(self) -> MassSpread:
        """How its mass lies in what encloses it."""
        return self._spread_of(self.tensor)

    @cached_property
    def tensor_problem(self) -> str:
        """Why no real body can have its tensor; '' if one can."""
        if self._is_possible(self.tensor):
            return ''
        moments = dict(zip(('ixx', 'iyy', 'izz'), np.diag(self.tensor).tolist()))
        for name, moment in moments.items():
            if moment < 0.0:
                return f'{name}="{moment:g}" is negative'
        name = max(moments, key=moments.__getitem__)
        rest = sum(moments.values()) - moments[name]
        if rest < moments[name]:
            return f'{name}="{moments[name]:g}" is more than the other two together, {rest:.6g}'
        principal = ', '.join(f'{moment:.4g}' for moment in np.linalg.eigvalsh(self.tensor))
        return f'of its principal moments {principal} the largest exceeds the sum of the others'

    @property
    def power_of_ten_hint(self) -> str:
        """A question, if a power of ten would make the tensor or an entry plausible; else ''."""
        return self._single_entry_hint() if self.tensor_problem else self._whole_tensor_hint()

    def _whole_tensor_hint(self) -> str:
        """Return a question about the unit of a tensor that a body can have; '' if none fits."""
        for power in _WHOLE_TENSOR_POWERS_OF_TEN:
            changed = self.tensor * 10.0**power
            spread = self._spread_of(changed)
            least = _MIN_TO_MAX_SPREAD * spread.most
            if self._is_possible(changed) and least <= spread.deviation <= spread.most:
                return f'; is every entry to be multiplied by 1e{power}?'
        return ''

    def _single_entry_hint(self) -> str:
        """Return a question about an entry of a tensor that no body can have; '' if none fits."""
        for power in _TENSOR_ENTRY_POWERS_OF_TEN:
            for i, j in zip(*np.triu_indices(3)):
                if not self.tensor[i, j]:
                    continue
                changed = self.tensor.copy()
                changed[i, j] = self.tensor[i, j] * 10.0**power
                changed[j, i] = self.tensor[j, i] * 10.0**power
                spread = self._spread_of(changed)
                if self._is_possible(changed) and spread.deviation <= spread.most:
                    name = f'i{"xyz"[i]}{"xyz"[j]}'
                    return f'; is {name} to be multiplied by 1e{power}?'
        return ''

    def _is_possible(self, tensor: Array) -> bool:
        """Return whether a body of this mass can have a tensor about its centre of mass."""
        return LinkInertia.from_center_of_mass(self.mass, np.zeros(3), tensor).is_physical()

    def _spread_of(self, tensor: Array) -> MassSpread:
        """
        Return how the mass would lie in what encloses the link with another tensor.

        Along every direction the centre of mass lies between the ends of what encloses it, at
        distances a and b from them, and the variance is at most a b (Bhatia and Davis 2000).
        """
        covariance = (0.5 * np.trace(tensor) * np.eye(3) - tensor) / self.mass
        # The directions that are looked along: the axes of the frame, the principal axes, in which
        # the mass spreads most, and the line to the middle, beyond which a centre may lie.
        axes = np.vstack((np.eye(3), np.linalg.eigh(covariance)[1].T))
        middle = self.enclosing_points.mean(axis=0)
        to_middle = float(np.linalg.norm(middle))
        if to_middle:
            axes = np.vstack((axes, middle / to_middle))
        # The ends of what encloses the link, as seen from the centre of mass.
        along = self.enclosing_points @ axes.T
        extent = np.ptp(along, axis=0).max()
        overhang = _MAX_OVERHANG_OF_SHAPE_M + _MAX_OVERHANG_TO_SHAPE_EXTENT * extent
        low = along.min(axis=0) - overhang
        high = along.max(axis=0) + overhang
        outside = float(max(low.max(), -high.min()))
        # The largest deviation between these ends, and the one of the tensor.
        most = np.sqrt((-low * high).clip(1e-12)).clip(max=self.reach)
        variance = np.einsum('ki,ij,kj->k', axes, covariance, axes)
        deviation = np.sqrt(variance.clip(0.0))
        k = int((deviation / most).argmax())
        return MassSpread(outside, float(deviation[k]), float(most[k]), axes[k])


class BodyNumbers(NamedTuple):
    """
    Links with mass that move as one.

    `mass` [kg] and `variance` [m^2] are those of all together, the latter the sum of those along
    three axes. `hulls` are the points (K, 3) of each link's meshes [m]; there are none unless all
    shapes are meshes, and all were read.
    """

    links: tuple[LinkNumbers, ...]
    mass: float
    variance: float
    hulls: tuple[Array, ...]

    @property
    def heaviest(self) -> LinkNumbers:
        """The link that gives the body its name."""
        return max(self.links, key=lambda link: link.mass)

    @property
    def is_possible(self) -> bool:
        """Whether real bodies can have all the links' tensors."""
        return not any(link.tensor_problem for link in self.links)


class EffortLimit(NamedTuple):
    """
    A joint's effort limit, and the effort that holds the arm's weight.

    The weight is taken with all joints at zero, or at their limit nearest to zero. `unit` is that
    of both efforts.
    """

    joint: str
    words: FormatWords
    effort: float
    holding_effort: float
    unit: str


class FileNumbers(NamedTuple):
    """The numbers of a URDF or MJCF: moving bodies, links that no joint moves, effort limits."""

    bodies: Sequence[BodyNumbers]
    still_links: Sequence[LinkNumbers]
    links_without_mass: Sequence[LinkNumbers]  # but with a tensor
    effort_limits: Sequence[EffortLimit]

    @property
    def moving_links(self) -> list[LinkNumbers]:
        """The links with mass that a joint moves."""
        return [link for body in self.bodies for link in body.links]
