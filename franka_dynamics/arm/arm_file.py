# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""YAML files in `config/arms` -> descriptions, with every field checked."""

from __future__ import annotations

from dataclasses import fields, MISSING, replace
from pathlib import Path
from typing import Any

import numpy as np

from .consistency import repaired, REPAIRS
from .denavit_hartenberg import Convention, DHRow
from .description import ArmDescription, Joint, JointLimits
from .friction import FRICTION_MODELS, FrictionModel
from .hand_file import (
    available_hands,
    hand_file,
    inertia_about,
    InertiaAbout,
    is_file_name,
    load_hand,
    NO_HAND,
    read_body,
)
from .inertia import LinkInertia
from .strict_yaml import YamlTable
from ..errors import DescriptionError, FrictionError, nearest, UnknownArmError
from ..resources import share_directory
from ..spatial import JointKind, pose_from_xyz_rpy

# Franka's first arm was sold as Panda; its joints carry that name in older drivers.
ALIASES = {'panda': 'fer'}
AS_LISTED = 'as_listed'  # the hand that the inertial set was published with, if any
_ARM_KEYS = {
    'name',
    'title',
    'source',
    'convention',
    'joints',
    'flange',
    'base',
    'home',
    'rated_load',
    'friction',
    'simulated_friction',
    'default_set',
    'inertial_sets',
}


def available_arms() -> tuple[str, ...]:
    """Return the names of the arms that are shipped."""
    return tuple(sorted(path.stem for path in (share_directory() / 'config/arms').glob('*.yaml')))


def available_sets(arm: str | Path) -> tuple[str, ...]:
    """Return the names of an arm's inertial sets, its default first."""
    table = YamlTable.read(_arm_file(arm))
    sets = table.table('inertial_sets')
    default = table.text('default_set')
    return (default, *sorted(name for name in sets.values if name != default))


def load(
    arm: str | Path,
    inertial_set: str | None = None,
    *,
    hand: str = AS_LISTED,
    prefix: str = '',
    repair: str | None = None,
) -> ArmDescription:
    """
    Load an arm by its shipped name or from a YAML file.

    Parameters
    ----------
    arm : str or Path
        'fer', 'fr3', ... or the path of a file of the same form; 'panda' is the fer with its
        joints named panda_joint1 ...
    inertial_set : str, optional
        Which of the file's inertial sets to use; its `default_set` if not given.
    hand : str
        'as_listed' keeps the hand the set was published with (if any), 'none' takes it off,
        and a hand's name, or the path of a hand file, puts that hand on in its place.
    prefix : str
        Put in front of every joint name, verbatim.
    repair : str, optional
        'nearest_within_rounding' replaces links that no real body could be by the nearest ones
        that are, within the rounding that the set states; the set's own `repair` if not given.

    Raises
    ------
    UnknownArmError
        If there is no such arm, set or hand; the message lists those there are.
    DescriptionError
        If the file cannot be read or contradicts itself; the message names file and field.
    InertiaError
        If the repair asked for is impossible.
    MissingDependencyError
        If a repair is asked for and cvxpy is not installed.

    """
    path = _arm_file(arm)
    table = YamlTable.read(path)
    table.only(_ARM_KEYS)
    convention = table.choice('convention', Convention)
    joints = tuple(_joint(entry, prefix) for entry in table.tables('joints'))
    if str(arm) in ALIASES:
        joints = tuple(
            replace(
                joint,
                name=prefix
                + joint.name.removeprefix(prefix).replace(ALIASES[str(arm)], str(arm), 1),
            )
            for joint in joints
        )
    if not joints:
        raise table.error('joints', 'is empty; an arm needs at least one joint')
    names = [joint.name for joint in joints]
    for name in names:
        if names.count(name) > 1:
            raise table.error('joints', f'name {name!r} more than once; joint names must differ')
    sets = table.table('inertial_sets')
    chosen = inertial_set if inertial_set is not None else table.text('default_set')
    if chosen not in sets.values:
        raise UnknownArmError(
            f'{path} has no inertial set {chosen!r}; it has {", ".join(sets.values)}.'
        )
    inertial = sets.table(chosen)
    links, base_link = _links(inertial, [joint.name for joint in joints])
    description = ArmDescription(
        name=table.text('name'),
        convention=convention,
        joints=joints,
        links=links,
        flange=_row(table.table('flange')) if 'flange' in table else DHRow(),
        base=_base(table),
        base_link=base_link,
        home=_home(table, joints) if 'home' in table else None,
        friction=_friction(table.table('friction'), len(joints)) if 'friction' in table else None,
        simulated_friction=_friction(table.table('simulated_friction'), len(joints))
        if 'simulated_friction' in table
        else None,
        inertial_set=chosen,
        source=inertial.text('source'),
        hand=_listed_hand(inertial),
        rated_load=table.positive('rated_load') if 'rated_load' in table else None,
        rounding=inertial.positive('rounding') if 'rounding' in inertial else 0.0,
        file=str(path),
        repairs=inertial.texts('repairs') if 'repairs' in inertial else (),
    )
    return _repaired(_with_hand(description, hand), inertial, repair)


def alias_note(arm: str | Path) -> str:
    """Return a sentence on what an arm's other name stands for; empty for any other arm."""
    known = ALIASES.get(str(arm))
    return (
        ''
        if known is None
        else (
            f"{arm} is the {known}, Franka's first arm, with its joints named "
            f'{arm}_joint1 ... as its '
            'older drivers name them.'
        )
    )


def _with_hand(description: ArmDescription, hand: str) -> ArmDescription:
    # A path is kept whole, so that an arm file that names the hand can be read from anywhere.
    hand = str(hand_file(hand).resolve()) if is_file_name(hand) else hand
    if hand in (AS_LISTED, description.hand):
        return description
    if description.hand != NO_HAND:
        listed = load_hand(description.hand)
        description = description.with_payload(LinkInertia.zero() - listed, name=NO_HAND)
    if hand == NO_HAND:
        return description
    return description.with_payload(load_hand(hand), name=hand)


def _repaired(
    description: ArmDescription,
    inertial: YamlTable,
    repair: str | None,
) -> ArmDescription:
    """Repair on request of the caller or of the file; hands shift the rounding box, no more."""
    requested = inertial.text('repair') if repair is None and 'repair' in inertial else repair
    if requested is None:
        return description
    if requested not in REPAIRS:
        raise inertial.error('repair', f'is {requested!r}; it must be {" or ".join(REPAIRS)}')
    about_origin = inertia_about(inertial) is InertiaAbout.FRAME_ORIGIN and all(
        'first_moment' in entry for entry in inertial.tables('links')
    )
    return repaired(description, tensor_only=not about_origin)


_FOLDER = "{} is a folder; give the path of an arm's file."


def _arm_file(arm: str | Path) -> Path:
    text = str(arm)
    if is_file_name(text):
        path = Path(text).expanduser()
        if path.is_dir():
            raise DescriptionError(_FOLDER.format(path))
        if not path.is_file():
            raise DescriptionError(
                f"{path} does not exist; give the path of an arm's YAML file "
                f'or one of the shipped arms: {", ".join(available_arms())}.'
            )
        return path
    path = share_directory() / 'config' / 'arms' / f'{ALIASES.get(text, text)}.yaml'
    if not path.is_file():
        if Path(text).is_dir():
            raise DescriptionError(_FOLDER.format(text))
        names = available_arms()
        near = nearest(text, (*names, *ALIASES))
        also = ', '.join(f'{alias} is the {arm}' for alias, arm in ALIASES.items())
        raise UnknownArmError(
            f'There is no arm {text!r}; shipped are {", ".join(names)}; {also}. '
            f'{f"Did you mean {near}? " if near else ""}'
            'An arm of your own is given by the path of its YAML file.'
        )
    return path


def _joint(table: YamlTable, prefix: str) -> Joint:
    table.only({'name', 'kind', 'dh', 'limits', 'rotor_inertia'})
    limits = _limits(table.table('limits')) if 'limits' in table else JointLimits()
    rotor = table.number('rotor_inertia', 0.0)
    if rotor < 0.0:
        raise table.error('rotor_inertia', f'is {rotor}; it cannot be negative')
    return Joint(
        prefix + table.text('name'),
        table.choice('kind', JointKind),
        _row(table.table('dh')),
        limits,
        rotor,
    )


def _limits(table: YamlTable) -> JointLimits:
    scalars = {f.name for f in fields(JointLimits)} - {'lower', 'upper'}
    table.only(scalars | {'position'})
    values = {key: table.number(key) for key in scalars if key in table}
    for key, value in values.items():
        if value < 0.0:
            raise table.error(key, f'is {value}; a limit cannot be negative')
    for present, absent in (
        ('velocity_offset', 'velocity_deceleration'),
        ('velocity_deceleration', 'velocity_offset'),
    ):
        if present in values and absent not in values:
            raise table.error(absent, f'is missing beside {present}; the two belong together')
    if 'position' in table:
        lower, upper = table.bounds('position')
        if lower > upper:
            raise table.error('position', f'has its minimum {lower} above its maximum {upper}')
        values.update(lower=lower, upper=upper)
    return JointLimits(**values)


def _row(table: YamlTable) -> DHRow:
    table.only({'a', 'alpha', 'd', 'theta'})
    return DHRow(
        a=table.number('a', 0.0),
        alpha=table.angle('alpha', 0.0),
        d=table.number('d', 0.0),
        theta=table.angle('theta', 0.0),
    )


def _home(table: YamlTable, joints: tuple[Joint, ...]) -> np.ndarray:
    home = table.positions('home', len(joints))
    for i, (joint, at) in enumerate(zip(joints, home)):
        if not joint.limits.lower <= at <= joint.limits.upper:
            raise table.error(
                f'home[{i + 1}]',
                f'is {at:g}, outside the limits of {joint.name}, '
                f'{joint.limits.lower:g} to {joint.limits.upper:g}',
            )
    return home


def _listed_hand(table: YamlTable) -> str:
    if 'hand' not in table:
        return NO_HAND
    hand = table.text('hand')
    if hand != NO_HAND and not hand_file(hand).is_file():
        raise table.error(
            'hand',
            f'is {hand!r}; there are {", ".join(available_hands())}, or the path of a hand file',
        )
    return hand


def _links(
    table: YamlTable,
    joints: list[str],
) -> tuple[tuple[LinkInertia, ...], LinkInertia | None]:
    table.only(
        {
            'source',
            'inertia_about',
            'hand',
            'rounding',
            'repair',
            'repairs',
            'links',
            'base_link',
            'notes',
        }
    )
    about = inertia_about(table)
    entries = table.tables('links')
    if len(entries) != len(joints):
        raise table.error(
            'links',
            f'has {len(entries)} entries, but the arm has {len(joints)} '
            'joints; give one link per joint',
        )
    base = read_body(table.table('base_link'), about, {'name'}) if 'base_link' in table else None
    return tuple(
        read_body(entry.labelled(f'moved by {joint}'), about, {'name'})
        for entry, joint in zip(entries, joints)
    ), base


def _friction(table: YamlTable, n: int) -> FrictionModel:
    model = table.text('model')
    if model not in FRICTION_MODELS:
        raise table.error('model', f'is {model!r}; it must be one of {", ".join(FRICTION_MODELS)}')
    build = FRICTION_MODELS[model]
    given = [f for f in fields(build) if f.init]
    table.only({'model', 'source', *(f.name for f in given)})
    elements = table.length('reach') if model == 'maxwell_slip' else 0

    def value(name: str) -> Any:
        if name in ('width', 'stribeck_velocity'):
            return table.positive(name)
        if name == 'reach':
            return table.numbers(name, elements)
        if name == 'slip':
            return table.matrix(name, elements, n)
        if name == 'deviations':  # of viscous, Coulomb and offset; of Stribeck and the elements
            return table.matrix(name, 4 + elements if model == 'maxwell_slip' else 3, n)
        return table.numbers(name, n)

    try:
        friction: FrictionModel = build(
            **{f.name: value(f.name) for f in given if f.default is MISSING or f.name in table}
        )
    except FrictionError as error:
        raise table.error('model', f'{model} cannot be used: {str(error).rstrip(".")}') from error
    return friction


def _base(table: YamlTable) -> np.ndarray:
    if 'base' not in table:
        return np.eye(4)
    base = table.table('base')
    base.only({'xyz', 'rpy'})
    return pose_from_xyz_rpy(base.numbers('xyz', 3), base.angles('rpy', 3))
