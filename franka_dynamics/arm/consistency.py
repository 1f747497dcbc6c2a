# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Repairs links whose published inertial parameters no real body can have.

Each number of a printed table may be off by half a unit of its last decimal. The nearest physical
parameters within half a unit of the last decimal solve a convex problem, because the
pseudo-inertia is linear in the ten parameters about the frame origin (Wensing, Kim, Slotine 2018,
section III).
"""

from dataclasses import replace

import numpy as np

from .description import ArmDescription
from .inertia import LinkInertia
from ..errors import InertiaError
from ..semidefinite import minimiser, nonnegative_cone, psd_cone

# Smallest eigenvalue of a repaired pseudo-inertia, as a multiple of `rounding`: large enough to
# stay positive after the solver's error and the rounding of numbers in a URDF (15 decimals).
_MIN_EIGENVALUE_RATIO = 1e-3


def nearest_physical(link: LinkInertia, rounding: float, *, name: str = 'the link') -> LinkInertia:
    """
    Return the physically consistent link nearest to `link`, each parameter within `rounding`.

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
    # The unknowns are changes of the ten parameters, in units of the rounding.
    units = [LinkInertia.from_parameters(unit).pseudo_inertia() for unit in np.eye(10)]
    least = link.pseudo_inertia() / rounding - _MIN_EIGENVALUE_RATIO * np.eye(4)
    within = nonnegative_cone(1.0, np.concatenate([np.eye(10), -np.eye(10)]))
    cones = [psd_cone(least, np.stack(units, axis=-1)), within]
    moves = minimiser(2.0 * np.eye(10), np.zeros(10), cones)
    if moves is not None:
        moved = rounding * np.clip(moves, -1.0, 1.0)
        repaired_link = LinkInertia.from_parameters(link.parameters() + moved)
        if repaired_link.is_physical():
            return repaired_link
    raise InertiaError(
        f'No real body lies within the rounding of {name}: its pseudo-inertia has an eigenvalue '
        f'of {link.consistency_margin():.3g}, and moving its numbers by at most '
        f'{rounding:.3g} does not fix that. The numbers have an error larger than their '
        'rounding; choose another inertial set.'
    )


def repaired_arm(description: ArmDescription) -> ArmDescription:
    """
    Return the arm with inconsistent links replaced by the nearest physical ones within rounding.

    The returned arm's `repairs` has one sentence for each changed link, with its largest change.

    Raises
    ------
    InertiaError
        If the rounding is unknown, or no physical body lies within it.

    """
    if description.rounding == 0.0:
        raise InertiaError(
            f'The inertial set {description.inertial_set!r} of {description.name} states no '
            f'rounding, so nothing says how far its numbers may be moved '
            f'({"; ".join(description.inconsistencies())}). Choose another set, or add '
            '`rounding` to it if its decimals are known.'
        )
    links, sentences = [], []
    for joint, link in zip(description.joints, description.links):
        name = f'the link behind {joint.name}'
        repaired_link = nearest_physical(link, description.rounding, name=name)
        if repaired_link is not link:
            moved = float(np.abs(repaired_link.parameters() - link.parameters()).max())
            sentences.append(
                f'{name} was not physical as printed (eigenvalue '
                f'{link.consistency_margin():.2g} of its pseudo-inertia); its numbers are moved '
                f'by at most {moved:.2g}, within the rounding of {description.rounding:.2g}'
            )
        links.append(repaired_link)
    return replace(description, links=tuple(links), repairs=(*description.repairs, *sentences))
