# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The nearest parameters to a link's that a real body can have.

A printed table is a box: every number may be half a unit of its last decimal away. Where the
printed numbers themselves are of no body, the nearest ones inside the box that are of one solve a
small convex problem, because the pseudo-inertia is linear in the ten parameters about the frame
origin (Wensing, Kim, Slotine 2018, section III).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .description import ArmDescription
from .inertia import LinkInertia
from ..errors import InertiaError, MissingDependencyError
from ..typing import Array

NEAREST_WITHIN_ROUNDING = 'nearest_within_rounding'
REPAIRS = (NEAREST_WITHIN_ROUNDING,)
# The repaired pseudo-inertia's smallest eigenvalue, of the rounding: enough that neither the
# solver's last digits nor those of a URDF lead back across the border.
_INSIDE = 1e-3


def nearest_physical(link: LinkInertia, box: ArrayLike, *, name: str = 'the link') -> LinkInertia:
    """
    Return the physically consistent link nearest to a printed one, within its rounding.

    Nearest is meant in units of the box: the sum of squares of (moved by / half-width) over the
    parameters is least. A link that is physical already comes back as it is.

    Parameters
    ----------
    link : LinkInertia
        The printed link.
    box : array_like, shape (10,)
        Half-widths of the box about tensor, first moment and mass about the frame origin, in the
        order of `LinkInertia.parameters` [kg, kg m, kg m^2]; 0 for a number that may not move.
    name : str
        What sentences call the link.

    Raises
    ------
    InertiaError
        If no physical link lies within the box.
    MissingDependencyError
        If cvxpy, which solves the problem, is not installed.

    """
    if link.is_physical():
        return link
    half_widths, printed = np.asarray(box, dtype=float), link.parameters()
    moved = _solve(link.pseudo_inertia(), half_widths)
    if moved is not None:
        repaired = LinkInertia.from_parameters(printed + half_widths * np.clip(moved, -1.0, 1.0))
        if repaired.is_physical():
            return repaired
    raise InertiaError(
        f'No real body lies within the rounding of {name}: its pseudo-inertia has an eigenvalue '
        f'of {link.consistency_margin():.3g}, and moving its numbers by at most '
        f'{half_widths.max():.3g} does not fix that. The numbers are not of a body by more than '
        'rounding; choose another inertial set.'
    )


def _solve(pseudo: Array, half_widths: Array) -> Array | None:
    """Return the parameters' moves in units of the box, or None if there are none."""
    try:
        import cvxpy
    except ImportError as error:
        raise MissingDependencyError(
            'The nearest physically consistent parameters need cvxpy; install it with '
            "pip install 'franka_dynamics[identify]'."
        ) from error
    unit = float(half_widths.max())
    if unit == 0.0:
        return None
    # Everything is divided by the largest half-width, so that the solver sees moves of order 1.
    directions = [
        LinkInertia.from_parameters(column).pseudo_inertia() * width / unit
        for column, width in zip(np.eye(10), half_widths)
    ]
    moves = cvxpy.Variable(10)
    shifted = pseudo / unit + sum(moves[k] * matrix for k, matrix in enumerate(directions))
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum_squares(moves)),
        [shifted - _INSIDE * np.eye(4) >> 0, cvxpy.abs(moves) <= 1.0],
    )
    problem.solve(solver=cvxpy.CLARABEL)
    solved = problem.status in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE)
    return np.asarray(moves.value, dtype=float) if solved else None


def repaired(description: ArmDescription, *, tensor_only: bool = False) -> ArmDescription:
    """
    Return an arm whose links are the nearest physical ones within its table's rounding.

    Parameters
    ----------
    description : ArmDescription
        An arm whose inertial set states its `rounding`, the half of its last decimal's unit.
    tensor_only : bool
        For tables about the centre of mass: mass and centre stay, because the box is not convex
        in all ten numbers of such a table.

    Returns
    -------
    ArmDescription
        The same arm if all links are physical. Otherwise `repairs` has one sentence for each
        link that was moved, and by how much.

    Raises
    ------
    InertiaError
        If a link is not physical and the set states no rounding, or no body is within it.

    """
    if not description.inconsistencies():
        return description
    if description.rounding == 0.0:
        raise InertiaError(
            f'The inertial set {description.inertial_set!r} of {description.name} states no '
            f'rounding, so nothing says how far its numbers may be moved '
            f'({"; ".join(description.inconsistencies())}). Choose another set, or add '
            '`rounding` to it if its decimals are known.'
        )
    box = np.full(10, description.rounding)
    if tensor_only:
        box[6:] = 0.0
    links, sentences = [], []
    for joint, link in zip(description.joints, description.links):
        repaired = nearest_physical(link, box, name=f'the link behind {joint.name}')
        if repaired is not link:
            moved = float(np.abs(repaired.parameters() - link.parameters()).max())
            sentences.append(
                f'the link behind {joint.name} was not physical as printed (eigenvalue '
                f'{link.consistency_margin():.2g} of its pseudo-inertia); its numbers are moved '
                f'by at most {moved:.2g}, within the rounding of {description.rounding:.2g}'
            )
        links.append(repaired)
    return replace(description, links=tuple(links), repairs=(*description.repairs, *sentences))
