# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
`franka-dynamics arm check`: compare formulations of an arm's dynamics, or two descriptions.

The formulations are Pinocchio's, the package's own Newton-Euler recursion, and products of
exponentials.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
import shlex
from typing import TYPE_CHECKING

from ._arm_options import ArmOptions, MASS_OPTIONS
from ._options import gravity_option, json_option
from ._say import say, say_each, show, terminal, write_json
from ..arm import ArmDescription, available_arms, load
from ..arm.arm_file import is_urdf
from ..arm.hand_file import is_file_name
from ..arm.payload import read_payload
from ..errors import UrdfError, UrdfMismatchError
from ..options import option

if TYPE_CHECKING:
    from ..urdf.serial_chain import SerialChain

_SHOWN = 10
# The condition number of M at home is 315 to 2,262 for the shipped Franka arms, and 16,841 for the
# FR3 without a hand.
_EXTREME = 5000.0


def _light_joint(arm: ArmDescription) -> tuple[str, ...]:
    """Return a sentence if M at home is badly conditioned, with the joint that moves least."""
    import numpy as np

    from ..control.default_gains import home_pose
    from ..dynamics.newton_euler import NewtonEulerModel

    mass = NewtonEulerModel(arm).mass_matrix(home_pose(arm))
    condition = np.linalg.cond(mass)
    if condition <= _EXTREME:
        return ()
    joint = int(np.diag(mass).argmin())
    return (
        f'the condition number of M at home is {condition:.0f}: {arm.joint_names[joint]} moves '
        f'only {mass[joint, joint]:.1e} (kg m^2, or kg). Gains in proportion to M hold nothing '
        'there; the real joint moves its drive as well, which is not in M.',
    )


@dataclass(frozen=True, kw_only=True)
class Check(ArmOptions):
    """
    Compare three independent formulations of an arm's dynamics, or the arm with OTHER.

    With OTHER, list the numbers that differ between the two descriptions and their effects on
    torques.
    """

    other: str | None = option(
        'a shipped arm or an arm file, which gets the same --hand and --payload; or a URDF '
        '(.urdf, .xml; .xacro is expanded). Without --arm an arm file is compared with the '
        'shipped arm of its name, a URDF with the shipped arm that has its joint names, in the '
        'published set nearest to its inertials',
        'OTHER',
        positional=True,
        default=None,
    )
    states: int = option(
        'number of random states within the limits', 'N', least=1, most=1e6, default=1000
    )
    seed: int = option('seed of the random states', 'N', default=0)
    gravity: tuple[float, float, float] = gravity_option()
    all: bool = option('print the tables of every quantity as well', default=False)
    json: Path | None = json_option()
    prefix: str | None = option(
        'prefix of the joint names in OTHER, a URDF (default: found automatically)',
        'PREFIX',
        flags=('--arm-prefix',),
        default=None,
    )

    def run(self) -> int:
        """Print the verdict; exit 1 if formulations or torques of the descriptions differ."""
        if self.other is None:
            self.require_with('OTHER', 'prefix')
            return self._formulations()
        why = 'OTHER: random states are for the formulations of one arm'
        self.refuse(why, 'states', 'seed', 'all')
        return self._descriptions(self.other)

    def _formulations(self) -> int:
        from ..report.agreement import agreement_as_data, agreement_tables
        from ..validation.crosscheck import compare_formulations, TOLERANCE

        description = self.load_arm()
        with terminal(stderr=True).status('comparing ...'):
            agreement = compare_formulations(
                description, gravity=self.gravity, count=self.states, seed=self.seed
            )
        say(
            f'{self.title(description)}: largest difference from Pinocchio '
            f'{agreement.largest:.1e}, tolerance {TOLERANCE:.0e} ({agreement.states} states, seed '
            f'{agreement.seed})',
            'pass' if agreement.passed else 'MISMATCH',
        )
        for sentence in agreement.findings:
            say(sentence, style='red')
        if is_urdf(self.arm):
            say(
                'Compared were three formulations of the dynamics of this URDF, not the URDF with '
                f'an arm: `franka-dynamics arm check {shlex.quote(self.arm)}` does that.',
                'note',
            )
        say_each((*description.notes, *description.repairs), 'note')
        say_each(description.inconsistencies(), 'warning')
        say_each(_light_joint(description), 'note')
        if self.all:
            show(*agreement_tables(agreement))
        if self.json:
            write_json(self.json, agreement_as_data(agreement))
        return 0 if agreement.passed else 1

    def _descriptions(self, other: str) -> int:
        from ..validation.source import compare

        first, second = self._pair(other)
        found = compare(first, second, gravity=self.gravity)
        count = len(found.differences)
        named = other if isinstance(second, ArmDescription) else second.source
        say(
            f'{named} against {first.name} ({first.inertial_set}, hand {first.hand}): '
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
            data['node'] = _what_a_node_says(first, second, self.gravity)
            say_each(data['node'], 'note')
        if self.json:
            write_json(self.json, data)
        return 0 if found.passed else 1

    def _pair(self, other: str) -> tuple[ArmDescription, ArmDescription | SerialChain]:
        """Return both arms; --hand and --payload apply to OTHER, too, unless it is a URDF."""
        from ..validation.source import read_pair

        if is_urdf(self.arm):
            self.refuse('a URDF, which is compared as it is written', *MASS_OPTIONS)
        first = self.arm if is_urdf(self.arm) else None
        if is_urdf(other):
            if 'arm' not in self.options_given:
                self.require_with('--arm', 'repair', 'payload')
                hand = self.hand if 'hand' in self.options_given else None
                chosen = {'inertial_set': self.inertial_set, 'hand': hand}
                return read_pair(None, other, prefix=self.prefix, **chosen)
            return read_pair(first or self.load_arm(), other, prefix=self.prefix)
        self.refuse('an arm file: it is the prefix of joint names in a URDF', 'prefix')
        second = load(other, hand=self.hand)
        if self.payload is not None:
            second = second.with_payload(read_payload(self.payload))
        same = 'arm' not in self.options_given and second.name in available_arms()
        asked = replace(self, arm=second.name) if same and is_file_name(other) else self
        return read_pair(first or asked.load_arm(), second)


def _what_a_node_says(
    first: ArmDescription, chain: SerialChain, gravity: tuple[float, float, float]
) -> list[str]:
    """Return sentences: whether a node would accept the URDF as its model, and notes."""
    from ..urdf.document import read_urdf
    from ..validation.urdf_check import model_from_urdf

    try:
        _, verdict = model_from_urdf(
            read_urdf(Path(chain.source)),
            first,
            source=chain.source,
            joint_names=chain.joint_names,
            gravity=gravity,
        )
    except (UrdfError, UrdfMismatchError) as error:
        return [f'a node refuses it as its model (model_source: urdf_file): {error}', *chain.notes]
    return [verdict.summary(), *verdict.notes]
