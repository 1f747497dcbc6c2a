# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to users about numbers of a hand or payload that may mean something else."""

from collections.abc import Iterator

import numpy as np

from .bodies import InertiaReferencePoint
from .hands import hand_bodies, hand_name, HandBody, is_file_path
from .inertia import LinkInertia
from ..arrays import Array

# A tensor about the centre of mass c says how far the mass spreads along the line from the frame's
# origin to c: its mean square distance from c is t^2. A tensor about the origin, taken for one
# about c by mistake, seems to say t^2 + |c|^2. The true t^2 / |c|^2 of a solid that begins at the
# origin is
#     1/8 if it becomes heavier in proportion to the distance,
#     1/3 if it is homogeneous,
#     1/2 if it becomes lighter in proportion to the distance,
# and 0 for a point, so that a tensor that says 1 to 3/2 of |c|^2 may be such a mistake.
_MAX_SQUARE_SPREAD_TO_DISTANCE = 1.5
# Nothing is asked whose answer changes the hand's largest moment of inertia by a smaller share.
_MIN_CHANGE_TO_LARGEST = 0.05
# Nearer to an origin or a plane than this, a centre of mass is in it but for rounding.
_MAX_ROUNDOFF_M = 1e-9


def hand_questions(hand: str, *, z_points_away: bool) -> Iterator[str]:
    """
    Yield a sentence for each doubtful number of a hand, given by its file; none for a shipped one.

    With `z_points_away` the flange's z axis points away from the arm, as a Franka arm's does.
    """
    if not is_file_path(hand):
        return
    name = f'the hand {hand_name(hand)}'
    bodies = hand_bodies(hand)
    inertias = [body.link_inertia(body.inertia_about) for body in bodies]
    total = LinkInertia.zero()
    for body, inertia in zip(bodies, inertias):
        total = total + inertia.expressed_in(body.matrix())
    for body, inertia in zip(bodies, inertias):
        yield from _tensor_questions(body, inertia, total, f'{name}, {body.name or "its body"}')
    if z_points_away:
        yield from _place_questions(total, name)


def payload_questions(payload: LinkInertia, *, z_points_away: bool) -> Iterator[str]:
    """Yield a sentence for each doubtful number of a payload, as `hand_questions` does."""
    if not payload.mass:
        return
    if _may_be_about_origin(payload, payload):
        yield f'The payload: {_about_origin_question(payload, "the flange")}'
    if z_points_away:
        yield from _place_questions(payload, 'the payload')


def _tensor_questions(
    body: HandBody, inertia: LinkInertia, total: LinkInertia, name: str
) -> Iterator[str]:
    """Yield a question about the tensor of one of a hand's bodies, if it is doubtful."""
    if body.inertia is None or not inertia.mass:
        return
    about_center = body.inertia_about is InertiaReferencePoint.CENTER_OF_MASS
    if not np.any(body.inertia):
        yield (
            f'In {name}: is its inertia zero, as a point of {inertia.mass:g} kg has? A body of '
            'that mass has some; take it from CAD, or give a primitive.'
        )
    elif about_center and _may_be_about_origin(inertia, total):
        yield f'In {name}: {_about_origin_question(inertia, "its frame")}'


def _may_be_about_origin(inertia: LinkInertia, total: LinkInertia) -> bool:
    """Return whether a body's tensor may be about the origin, and that matters to the `total`."""
    center = inertia.center_of_mass
    mass = inertia.mass
    square = float(center @ center)
    if square < _MAX_ROUNDOFF_M**2:
        return False
    if mass * square < _MIN_CHANGE_TO_LARGEST * _largest_moment(total):
        return False
    tensor = inertia.inertia_at_center_of_mass
    square_spread = float(center @ _second_moment(tensor) @ center) / (mass * square)
    if not square <= square_spread <= _MAX_SQUARE_SPREAD_TO_DISTANCE * square:
        return False
    return LinkInertia(mass, inertia.first_moment, tensor).is_physical()


def _second_moment(tensor: Array) -> Array:
    """Return the second moment of mass, integral of r r^T dm (3, 3), of an inertia tensor."""
    return np.asarray(0.5 * np.trace(tensor) * np.eye(3) - tensor)


def _largest_moment(inertia: LinkInertia) -> float:
    """Return the largest principal moment about a body's centre of mass [kg m^2]."""
    return float(np.linalg.eigvalsh(inertia.inertia_at_center_of_mass)[-1])


def _largest_moment_across(inertia: LinkInertia) -> float:
    """Return the largest moment about an axis across the line from the origin to the centre."""
    center = inertia.center_of_mass
    across = np.eye(3) - np.outer(center, center) / (center @ center)
    moments = across @ inertia.inertia_at_center_of_mass @ across
    return float(np.linalg.eigvalsh(moments)[-1])


def _about_origin_question(inertia: LinkInertia, origin: str) -> str:
    """Return a question whether a body's tensor is about an origin, with what it would be then."""
    distance = 1e3 * float(np.linalg.norm(inertia.center_of_mass))
    tensor = inertia.inertia_at_center_of_mass
    about_origin = LinkInertia(inertia.mass, inertia.first_moment, tensor)
    stated_moment = _largest_moment_across(inertia)
    other_moment = _largest_moment_across(about_origin)
    return (
        f'is its inertia about the centre of mass, as it says, or about the origin of {origin}, '
        f'{distance:.3g} mm away? About the origin it would be that of a body which begins there, '
        f'with up to {other_moment:.3g}, not {stated_moment:.3g} kg m^2, about axes across its '
        'length.'
    )


def _place_questions(inertia: LinkInertia, name: str) -> Iterator[str]:
    """Yield a question about a load whose centre of mass is on the arm's side of the flange."""
    depth = -float(inertia.center_of_mass[2])
    if depth > _MAX_ROUNDOFF_M:
        yield (
            f'Is the centre of mass of {name} {1e3 * depth:.3g} mm behind the flange, on the '
            "arm's side? The flange's z axis points away from the arm."
        )
