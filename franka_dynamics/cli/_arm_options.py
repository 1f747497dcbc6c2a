# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The options that choose an arm; arm options as ROS parameters and as words for a shell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
import shlex
from typing import Any, ClassVar, TYPE_CHECKING

from ._action import Action
from ..errors import SettingsError
from ..names import AS_LISTED, REPAIRS
from ..options import option

if TYPE_CHECKING:
    from ..arm import ArmDescription

# Arm options that change inertias, not kinematics; a hand only adds its inertia to the last link.
MASS_OPTIONS = ('hand', 'inertial_set', 'repair', 'payload')


@dataclass(frozen=True, kw_only=True)
class NamedArm(Action):
    """The options for an arm's name or file, and its payload."""

    heading: ClassVar[str] = 'the arm'
    arm: str = option(
        'a shipped arm, or the path of an arm file, a URDF or a xacro file', default='fr3'
    )
    payload: str | None = option(
        'load beside the hand in the flange frame: mass,x,y,z[,ixx,ixy,ixz,iyy,iyz,izz], a .yaml '
        "file of `payload-from-mesh` or `identify payload`, or Desk's .json file",
        'NUMBERS|FILE',
    )

    def load_arm(self, inertial_set: str | None = None, hand: str = '') -> ArmDescription:
        """
        Load --arm with the options --set, --hand, --repair and --payload.

        The arguments, if given, are used in place of --set and --hand; the inertias of
        `inertial_set` are then as published, without --repair.
        """
        from ..urdf.source import load

        return load(
            self.arm,
            inertial_set or getattr(self, 'inertial_set', None),
            hand=hand or getattr(self, 'hand', AS_LISTED),
            prefix=getattr(self, 'arm_prefix', ''),
            repair=None if inertial_set else getattr(self, 'repair', None),
            payload=self.payload,
        )

    def load_each(self, sets: Iterable[str], hands: Iterable[str]) -> list[ArmDescription]:
        """Return the arm once for each combination of an inertial set and a hand."""
        every = [self.load_arm(one, hand) for one in sets for hand in dict.fromkeys(hands)]
        return list({(arm.inertial_set, arm.hand): arm for arm in every}.values())

    def title(self, arm: ArmDescription) -> str:
        """Return one line with the names of the arm, its inertial set, hand and payload."""
        file = f'{self.arm}: ' if Path(self.arm).is_file() else ''
        what = f'{file}{arm.name}, set {arm.inertial_set}, hand {arm.hand}'
        return what if self.payload is None else f'{what}, payload {self.payload}'


@dataclass(frozen=True, kw_only=True)
class ArmOptions(NamedArm):
    """The options for an arm, its inertial set (repaired or as published), hand and payload."""

    heading: ClassVar[str] = 'the arm'
    hand: str = option(
        "a shipped hand, a hand file, Desk's .json file, none, or as_listed with the set",
        default=AS_LISTED,
    )
    inertial_set: str | None = option(
        "one of the arm's inertial sets (default: its own)", 'SET', flags=('--set',)
    )
    repair: str | None = option(
        "make inertias physical within the rounding of the set's digits", choices=REPAIRS
    )

    def node_parameters(self) -> dict[str, Any]:
        """
        Return the ROS parameters with which a node loads the arm.

        Raises SettingsError for a URDF, because nodes take arm files.
        """
        from ..arm.arm_file import is_urdf
        from ..arm.payload import payload_array, read_payload

        if is_urdf(self.arm):
            raise SettingsError(
                f'{self.arm} is a URDF, but nodes take arm files; write an arm file with '
                f'"franka-dynamics arm import {self.arm} --output arm.yaml".'
            )
        given = {
            'robot_type': self.arm,
            'hand': self.hand,
            'inertial_set': self.inertial_set,
            'repair': self.repair,
            'payload': self.payload and payload_array(read_payload(self.payload)).tolist(),
        }
        return {name: value for name, value in given.items() if value}

    def arm_as_given(self, *without: str) -> str:
        """Return --arm and the MASS_OPTIONS with an effect, but not `without`, as shell words."""
        words = ['--arm', self.arm]
        for name in MASS_OPTIONS:
            if getattr(self, name) not in (None, AS_LISTED) and name not in without:
                words += [self.spelled(name), f'{getattr(self, name)}']
        return shlex.join(words)
