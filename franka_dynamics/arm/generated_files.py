# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot descriptions that are generated from `config/` and committed under `urdf/`."""

from __future__ import annotations

from .inertia import LinkInertia
from .loader import AS_LISTED, load, load_hand, NO_HAND
from .mjcf_writer import write_mjcf
from .shapes import load_hand_shapes, load_shapes
from .urdf_writer import link_names, write_urdf
from .xacro_writer import arm_macro, hands_macro

FORMATS = ('urdf', 'mjcf')
SHIPPED = ('fer', 'fr3', 'fr3v2', 'rpr')
_BANNER = ('Generated from config/ by franka-dynamics urdf; to change it, change config/ and '
           'generate it again.')
_LICENSE = 'Copyright 2026 The franka_dynamics authors. SPDX-License-Identifier: Apache-2.0.'


def robot_text(arm: str, kind: str, inertial_set: str | None = None, *, hand: str = AS_LISTED,
               prefix: str = '', repair: str | None = None) -> str:
    """
    Return the URDF or MJCF of an arm, its hand as a link of its own in URDF.

    Parameters
    ----------
    arm : str
        A shipped arm or an arm file.
    kind : str
        One of FORMATS.
    inertial_set, hand, prefix, repair : str
        As `load` takes them; what was repaired is said in a comment.

    Raises
    ------
    InertiaError
        If the set is not physical.

    """
    listed = load(arm, inertial_set, hand=hand, prefix=prefix, repair=repair)
    shapes = load_shapes(listed.name)
    tool_shapes = load_hand_shapes() if listed.hand != NO_HAND else ()
    if kind == 'mjcf':
        return _with_banner(write_mjcf(listed, shapes=shapes, tool_shapes=tool_shapes),
                            listed.repairs)
    bare = load(arm, inertial_set, hand=NO_HAND, prefix=prefix, repair=repair)
    return _with_banner(write_urdf(bare, root=f'{prefix}base', shapes=shapes,
                                   tool=_tool(listed.hand, bare.joint_names),
                                   tool_shapes=tool_shapes), bare.repairs)


def generated_files() -> dict[str, str]:
    """Return the text of every committed file, by its name in `urdf/`."""
    robots = {f'{arm}.{suffix}': robot_text(arm, kind) for arm in SHIPPED
              for kind, suffix in (('urdf', 'urdf'), ('mjcf', 'xml'))}
    macros = {f'xacro/{arm}.xacro': _with_banner(arm_macro(arm)) for arm in SHIPPED}
    return {**robots, **macros, 'xacro/hands.xacro': _with_banner(hands_macro())}


def _tool(hand: str, joint_names: tuple[str, ...]) -> tuple[str, LinkInertia] | None:
    if hand == NO_HAND:
        return None
    stem = link_names(joint_names).flange.rpartition('link')[0]
    return f'{stem}hand', load_hand(hand)


def _with_banner(text: str, repairs: tuple[str, ...] = ()) -> str:
    lines = '\n     '.join((_LICENSE, _BANNER, *repairs))
    comment = f'<!-- {lines} -->\n'
    head, separator, body = text.partition('?>\n')
    return f'{head}{separator}{comment}{body}' if separator else f'{comment}{text}'
