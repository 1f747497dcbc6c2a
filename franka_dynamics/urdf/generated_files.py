# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generates the URDF, MJCF and xacro files that `arm export` writes and that `urdf/` contains."""

from collections.abc import Sequence
import xml.etree.ElementTree as ElementTree

from .mjcf_writer import mjcf_text
from .writer import add_inertial, add_shapes, add_tag, Element, urdf_text, xml_text
from ..arm.arm_fields import link_names
from ..arm.arm_file import available_arms, available_sets, load
from ..arm.description import ArmDescription
from ..arm.frames import ROOT_LINK
from ..arm.hand_change import with_hand
from ..arm.hands import available_hands, load_hand
from ..arm.shapes import load_hand_shapes, load_shapes
from ..constants import NO_HAND

_XACRO_NAMESPACE = 'http://www.ros.org/wiki/xacro'
_XACRO_MACRO_TAG = f'{{{_XACRO_NAMESPACE}}}macro'
# Stands for the macro's argument while the URDF is written, because a URDF's names have no $.
_PREFIX_PLACEHOLDER = 'prefix__'
# The macro's argument in a xacro file.
_PREFIX_ARGUMENT = '${prefix}'
ElementTree.register_namespace('xacro', _XACRO_NAMESPACE)
_BANNER = (
    'Copyright 2026 The franka_dynamics authors. SPDX-License-Identifier: Apache-2.0.',
    'Generated from config/ by franka-dynamics arm export; to change it, change config/ and '
    'generate it again.',
)


def physical_inertial_sets(arm_name: str) -> tuple[str, ...]:
    """Return names of an arm's inertial sets that are physical without hand, default first."""
    bare = {name: load(arm_name, name, hand=NO_HAND) for name in available_sets(arm_name)}
    return tuple(name for name, arm in bare.items() if not arm.inconsistencies())


def arm_macro_text(arm_name: str) -> str:
    """
    Return the text of a xacro file with a macro of an arm and its physical inertial sets.

    The file's macro `arm` takes `prefix`, `inertial_set` ('' for the default) and `meshes`: '' for
    simple shapes, or the URI of a folder with visual/ and collision/ like franka_description's.
    """
    sets = physical_inertial_sets(arm_name)
    root = f'{_PREFIX_PLACEHOLDER}{ROOT_LINK}'
    shapes = load_shapes(arm_name)
    bare = {name: load(arm_name, name, hand=NO_HAND, prefix=_PREFIX_PLACEHOLDER) for name in sets}
    texts = {name: urdf_text(arm, root=root, shapes=shapes) for name, arm in bare.items()}
    robots = {name: ElementTree.fromstring(text) for name, text in texts.items()}
    macro = Element(_XACRO_MACRO_TAG, name='arm', params='prefix inertial_set meshes')
    _add_xacro_property(macro, 'set', f"${{inertial_set if inertial_set else '{sets[0]}'}}")
    _add_choice_check(macro, 'set', sets, f'inertial_set of {arm_name}')
    for element in robots[sets[0]]:
        if element.tag == 'link':
            place = f"link[@name='{element.get('name')}']/inertial"
            inertials = {name: robot.find(place) for name, robot in robots.items()}
            macro.append(_macro_link(element, inertials))
        else:
            macro.append(element)
    return _xacro_file_text(macro)


def hands_macro_text() -> str:
    """Return the text of a xacro file whose macro `hand` attaches a shipped hand to a link."""
    macro = Element(_XACRO_MACRO_TAG, name='hand', params='hand prefix parent stem')
    names = available_hands()
    _add_choice_check(macro, 'hand', names, 'hand')
    joint = add_tag(macro, 'joint', name='${prefix}${stem}hand_joint', type='fixed')
    add_tag(joint, 'parent', link='${parent}')
    add_tag(joint, 'child', link='${prefix}${stem}hand')
    link = add_tag(macro, 'link', name='${prefix}${stem}hand')
    shaped = [name for name in names if load_hand_shapes(name)]  # all have one shape
    add_shapes(
        _add_xacro_condition(link, 'if', f'hand in {shaped}'),
        load_hand_shapes(shaped[0]),
    )
    for name in names:
        add_inertial(_add_xacro_condition(link, 'if', f"hand == '{name}'"), load_hand(name))
    return _xacro_file_text(macro)


def _macro_link(link: Element, inertial_by_set: dict[str, Element | None]) -> Element:
    """
    Return a link with each set's inertial, and simple shapes or, with xacro's `meshes`, meshes.

    The link's <inertial> is written for each inertial set, inside <xacro:if>.
    """
    new = Element('link', link.attrib)
    simple = [element for element in link if element.tag in ('visual', 'collision')]
    if simple:
        name = str(link.get('name'))
        _add_xacro_condition(new, 'unless', 'meshes').extend(simple)
        chosen = _add_xacro_condition(new, 'if', 'meshes')
        mesh = name[name.rindex('link') :]
        for tag, suffix in (('visual', 'dae'), ('collision', 'stl')):
            geometry = add_tag(add_tag(chosen, tag), 'geometry')
            add_tag(geometry, 'mesh', filename=f'${{meshes}}/{tag}/{mesh}.{suffix}')
    for set_name, inertial in inertial_by_set.items():
        if inertial is not None:
            _add_xacro_condition(new, 'if', f"set == '{set_name}'").append(inertial)
    return new


def _add_choice_check(macro: Element, variable: str, choices: Sequence[str], label: str) -> None:
    """Add to a macro an xacro error for a variable whose value is none of `choices`."""
    refusal = f'{label} must be one of {", ".join(choices)}; it is '
    unless = _add_xacro_condition(macro, 'unless', f'{variable} in {list(choices)}')
    _add_xacro_property(unless, 'refusal', f"${{xacro.fatal('{refusal}' + {variable})}}")


def _add_xacro_property(parent: Element, name: str, value: str) -> None:
    """Add an xacro property, which xacro evaluates even if nothing uses it."""
    # xacro evaluates an unused property, such as `refusal`, only with lazy_eval='false'.
    add_tag(
        parent,
        f'{{{_XACRO_NAMESPACE}}}property',
        name=name,
        value=value,
        lazy_eval='false',
    )


def _add_xacro_condition(parent: Element, tag: str, condition: str) -> Element:
    """Add an xacro element `tag` (`if` or `unless`) with a condition to `parent`; return it."""
    return add_tag(parent, f'{{{_XACRO_NAMESPACE}}}{tag}', value=f'${{bool({condition})}}')


def _xacro_file_text(macro: Element) -> str:
    """Return the text of a xacro file with a macro, ${prefix} in place of the placeholders."""
    robot = Element('robot')
    robot.append(macro)
    return xml_text(robot).replace(_PREFIX_PLACEHOLDER, _PREFIX_ARGUMENT)


def robot_file_text(
    arm: ArmDescription,
    format: str,
    *,
    user_file: str = '',
    prefix: str = '',
    ideal: bool = False,
) -> str:
    """
    Return the text of an arm's URDF or MJCF, as `format` says, with a comment on top.

    In URDF the hand is a link of its own; a payload is part of the last link. `user_file` is the
    file that the arm was loaded from, if it is the user's; the comment names it and the repaired
    links. `prefix` is that of the root link. `ideal` is that of `mjcf_text`.

    Raises
    ------
    InertiaError
        If the arm is not physical.

    """
    shapes = load_shapes(arm.name)
    tool = None
    tool_shapes = load_hand_shapes(arm.hand)
    if arm.hand != NO_HAND:
        tool_name = f'{link_names(arm.joint_names).prefix}hand'
        tool = (tool_name, load_hand(arm.hand))
    if format == 'mjcf':
        text = mjcf_text(arm, shapes=shapes, tool_shapes=tool_shapes, ideal=ideal)
    else:
        bare = with_hand(arm, NO_HAND)
        root = f'{prefix}{ROOT_LINK}'
        text = urdf_text(bare, root=root, tool=tool, shapes=shapes, tool_shapes=tool_shapes)
    banner: tuple[str, ...] = _BANNER
    if user_file:
        banner = (f'Written by franka-dynamics arm export from {user_file}.',)
    return _with_banner(text, (*banner, *arm.repairs))


def exported_arms() -> tuple[str, ...]:
    """
    Return the names of the shipped arms with a home pose, of which `urdf/` contains files.

    An arm file without one describes a textbook's arm, for formulas alone.
    """
    return tuple(name for name in available_arms() if load(name).home is not None)


def generated_files() -> dict[str, str]:
    """Return the text of every generated file, by its path below `urdf/`."""
    arms = exported_arms()
    robots = {
        f'{arm}.{suffix}': robot_file_text(load(arm), kind)
        for arm in arms
        for kind, suffix in (('urdf', 'urdf'), ('mjcf', 'xml'))
    }
    macros = {f'xacro/{arm}.xacro': _with_banner(arm_macro_text(arm)) for arm in arms}
    return {**robots, **macros, 'xacro/hands.xacro': _with_banner(hands_macro_text())}


def _with_banner(text: str, banner: Sequence[str] = _BANNER) -> str:
    """Return XML text with a comment on top, behind the XML declaration."""
    lines = '\n     '.join(banner).replace('--', '- -')  # XML allows no -- in a comment
    comment = f'<!-- {lines} -->\n'
    head, separator, body = text.partition('?>\n')
    return f'{head}{separator}{comment}{body}' if separator else f'{comment}{text}'
