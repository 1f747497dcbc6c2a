# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Puts another hand on an arm, or none."""

from dataclasses import replace

from .description import ArmDescription
from .hands import hand_file_path, hand_frames, hand_name, is_file_path, load_hand
from .inertia import LinkInertia
from ..constants import AS_LISTED, NO_HAND
from ..errors import InertiaError


def with_hand(description: ArmDescription, hand: str) -> ArmDescription:
    """
    Return the arm with the hand `hand` (name or file), none ('none') or its own (AS_LISTED).

    Raises InertiaError if hand and payload are heavier than the arm's rated load.
    """
    # The path becomes absolute, so that an arm file with this hand can be read from any folder.
    hand = str(hand_file_path(hand).resolve()) if is_file_path(hand) else hand
    if hand in (AS_LISTED, description.hand):
        return description
    frames_of_old_hand = {frame.name for frame in hand_frames(description.hand)}
    kept = [frame for frame in description.fixed_frames if frame.name not in frames_of_old_hand]
    old_hand = hand_inertia(description.hand)
    new_hand = hand_inertia(hand)
    payload = description.payload
    _require_hand_within_rated_load(description, hand, new_hand.mass)
    # `with_payload` counts the hand as payload, too. Only the payload itself is kept here.
    changed = replace(
        description.with_payload(new_hand - old_hand),
        hand=hand,
        fixed_frames=tuple(kept),
        payload=payload,
        carried_mass=new_hand.mass + payload.mass,
    )
    return with_hand_frames(changed)


def hand_inertia(hand: str) -> LinkInertia:
    """Return a hand's inertia about the flange's origin; zeros for none."""
    return LinkInertia.zero() if hand == NO_HAND else load_hand(hand)


def _require_hand_within_rated_load(description: ArmDescription, hand: str, mass: float) -> None:
    """Raise InertiaError if a hand of this mass [kg], with the payload, exceeds the rated load."""
    rated = description.rated_load
    payload = description.payload.mass
    if rated is None or mass + payload <= rated:
        return
    beside = f', beside a payload of {payload:g} kg' if payload else ''
    raise InertiaError(
        f'The hand {hand_name(hand)} weighs {mass:g} kg{beside}, more than the rated load of '
        f'{description.name} ({rated:g} kg).'
    )


def with_hand_frames(description: ArmDescription) -> ArmDescription:
    """Return an arm with the frames of its hand added, except those whose names it already has."""
    names = {frame.name for frame in description.fixed_frames}
    added = [frame for frame in hand_frames(description.hand) if frame.name not in names]
    return replace(description, fixed_frames=(*description.fixed_frames, *added))
