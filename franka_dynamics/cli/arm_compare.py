# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm compare`: compare an arm with another description or a URDF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import ArmOptions, MASS_OPTIONS
from ._options import gravity_option, json_option
from ._say import say, say_each, write_json
from ..arm import ArmDescription, load
from ..arm.payload import read_payload
from ..errors import UrdfError, UrdfMismatchError
from ..options import option

if TYPE_CHECKING:
    from ..urdf.serial_chain import SerialChain

_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Compare(ArmOptions):
    """List the numbers that differ between an arm and another description or a URDF."""

    other: str = option(
        'a shipped arm or an arm file, which gets the same --hand and --payload; or a URDF '
        '(.urdf, .xml; .xacro is expanded), compared, unless --arm is given, with the shipped arm '
        'that has its joint names, in the published set nearest to its inertials',
        'OTHER',
        positional=True,
    )
    gravity: tuple[float, float, float] = gravity_option()
    json: Path | None = json_option()
    prefix: str | None = option(
        'prefix of the joint names in a URDF (default: found automatically)',
        'PREFIX',
        flags=('--arm-prefix',),
        default=None,
    )

    def run(self) -> int:
        """Print the differences with the largest effects; exit 1 if a torque differs."""
        from ..validation.source import compare

        first, second = _pair(self)
        found = compare(first, second, gravity=self.gravity)
        count = len(found.differences)
        other = self.other if isinstance(second, ArmDescription) else second.source
        say(
            f'{other} against {first.name} ({first.inertial_set}, hand {first.hand}): '
            f'{count} {"difference" if count == 1 else "differences"}, {len(found.acting)} of '
            'them with an effect on torque.',
            'pass' if found.passed else 'MISMATCH',
        )
        say(
            'Compared are the base, joints, DH rows, flange, rotors, links, limits and '
            'friction; not home poses, rated loads, shapes, names and notes.'
        )
        for one in found.differences[:_SHOWN]:
            say(f'- {one}', style='red' if one.has_effect else 'dim')
        if count > _SHOWN:
            more = f'- and {count - _SHOWN} more with less effect; --json FILE writes all'
            say(more, style='dim')
        if found.acting:
            say(f'Together they change the torque by {found.together}.')
        data = found.as_data()
        if not isinstance(second, ArmDescription):
            data['node'] = _what_a_node_says(first, second, self)
            say_each(data['node'], 'note')
        if self.json:
            write_json(self.json, data)
        return 0 if found.passed else 1


def _pair(arguments: Compare) -> tuple[ArmDescription, ArmDescription | SerialChain]:
    """Return both arms; --hand and --payload apply to OTHER, too, unless it is a URDF."""
    from ..arm.arm_file import is_urdf
    from ..validation.source import read_pair

    if is_urdf(arguments.arm):
        arguments.refuse('a URDF, which is compared as it is written', *MASS_OPTIONS)
    if is_urdf(arguments.other):
        if 'arm' not in arguments.options_given:
            arguments.require_with('--arm', 'repair', 'payload')
            hand = arguments.hand if 'hand' in arguments.options_given else None
            chosen = {'inertial_set': arguments.inertial_set, 'hand': hand}
            return read_pair(None, arguments.other, prefix=arguments.prefix, **chosen)
        first = arguments.arm if is_urdf(arguments.arm) else arguments.load_arm()
        return read_pair(first, arguments.other, prefix=arguments.prefix)
    arguments.refuse('an arm file: it is the prefix of joint names in a URDF', 'prefix')
    second = load(arguments.other, hand=arguments.hand)
    if arguments.payload is not None:
        second = second.with_payload(read_payload(arguments.payload))
    return read_pair(arguments.arm if is_urdf(arguments.arm) else arguments.load_arm(), second)


def _what_a_node_says(first: ArmDescription, chain: SerialChain, arguments: Compare) -> list[str]:
    """Return sentences: whether a node would accept the URDF as its model, and notes."""
    from ..urdf.document import read_urdf
    from ..validation.urdf_check import model_from_urdf

    try:
        _, verdict = model_from_urdf(
            read_urdf(Path(chain.source)),
            first,
            source=chain.source,
            joint_names=chain.joint_names,
            gravity=arguments.gravity,
        )
    except (UrdfError, UrdfMismatchError) as error:
        return [f'a node refuses it as its model (model_source: urdf_file): {error}', *chain.notes]
    return [verdict.summary(), *verdict.notes]
