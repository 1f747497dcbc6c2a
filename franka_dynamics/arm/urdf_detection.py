# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which shipped arm a URDF holds, by the names of its joints."""

from __future__ import annotations

from collections.abc import Sequence

from .description import ArmDescription
from .loader import available_arms, load
from .serial_chain import find_chains
from .urdf_document import UrdfDocument
from ..errors import UrdfError

# Arms under older or other names, with the geometry of a shipped one.
ALIASES = {'panda': 'fer', 'fp3': 'fr3'}


def detect_arm(document: UrdfDocument, *, arm: str | None = None, prefix: str | None = None,
               ) -> tuple[ArmDescription, tuple[str, ...]]:
    """
    Return the described arm to compare a URDF with, and its joints' names in the URDF.

    Parameters
    ----------
    document : UrdfDocument
        The URDF as parsed.
    arm : str, optional
        The shipped arm or arm file; found by joint names if not given.
    prefix : str, optional
        What stands in front of the joints' names, verbatim; found if not given.

    Raises
    ------
    UrdfError
        If no arm or more than one fits; the sentence lists the joints or the choices.

    """
    found = _by_name(document, arm, prefix)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise UrdfError(
            f'{document.source}: holds more than one arm ({_first_joints(found)}); say which by '
            'its prefix (--prefix) or name (--arm).')
    if arm is not None and prefix is None:
        return _by_chain(document, load(arm))
    moving = [joint.name for joint in document.joints.values() if joint.moves]
    raise UrdfError(
        f'{document.source}: holds no arm that is known by name; its moving joints are '
        f'{", ".join(moving) or "none"}. Say which arm it should be (--arm), or import it as an '
        'arm of its own (franka-dynamics import-urdf).')


def _by_name(document: UrdfDocument, arm: str | None, prefix: str | None,
             ) -> list[tuple[ArmDescription, tuple[str, ...]]]:
    """Return every shipped arm whose joints are all there, under one prefix each."""
    if arm is not None:
        known = {arm: arm}
    else:
        known = {**{name: name for name in available_arms()}, **ALIASES}
    found = []
    for name, file in known.items():
        description = load(file)
        wanted = [joint.replace(description.name, name, 1) if file != name else joint
                  for joint in description.joint_names]
        for candidate in _prefixes(document, wanted[0]):
            names = tuple(candidate + joint for joint in wanted)
            if prefix in (None, candidate) and all(j in document.joints for j in names):
                found.append((description, names))
    return found


def _prefixes(document: UrdfDocument, joint: str) -> list[str]:
    return [name[:-len(joint)] for name in document.joints if name.endswith(joint)]


def _by_chain(document: UrdfDocument, description: ArmDescription,
              ) -> tuple[ArmDescription, tuple[str, ...]]:
    """Return the first joints of the only chain that is long enough, whatever their names."""
    long_enough = [chain for chain in find_chains(document) if len(chain) >= description.n]
    if len(long_enough) != 1:
        chains = '; '.join(', '.join(chain) for chain in find_chains(document)) or 'none'
        raise UrdfError(
            f'{document.source}: has {len(long_enough)} chains of {description.n} or more moving '
            f'joints, expected one. Its chains are: {chains}.')
    return description, long_enough[0][:description.n]


def _first_joints(found: Sequence[tuple[ArmDescription, tuple[str, ...]]]) -> str:
    return ' and '.join(names[0] for _, names in found)
