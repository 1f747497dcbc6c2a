# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and sentences on an arm's frames, inertias, base parameters and cross-check."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .elements import Cell, Header, headers, Table
from .json_types import to_json_types
from ..arm import ArmDescription, JointKind
from ..arm.friction import FRICTION_CLASSES
from ..arm.inertia import elements_from_tensor, TENSOR_ORDER
from ..arm.judgements import Judgement
from ..arrays import Array
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.space_inertia import space_inertias
from ..errors import list_text
from ..parameters.base_parameters import BaseParameters, max_base_parameter_count
from ..validation.crosscheck import CrosscheckResult

# Coefficients of friction models, one for each joint, in the order of a table.
_FRICTION_KEYS = (
    'amplitude',
    'slope',
    'viscous',
    'coulomb',
    'offset',
    'slip',
    'stribeck',
    'load_dependent',
    'receiver_offset',
)
_UNITS_BY_SYMBOL = {'m': 'kg', 'mX': 'kg m', 'mY': 'kg m', 'mZ': 'kg m'}
# The condition number of M at home is 315 to 2,262 for the shipped Franka arms, and 16,841 for the
# FR3 without a hand.
_MAX_MASS_MATRIX_CONDITION = 5000.0


@dataclass(frozen=True)
class InertiaRow:
    """
    A link's mass [kg], centre of mass [m] and inertias about origin and centre of mass [kg m^2].

    Inertias are xx, xy, xz, yy, yz, zz: `inertia` is about the origin of the link's frame,
    `inertia_at_center_of_mass` about the centre of mass. Centre of mass and inertias are expressed
    in the link's frame or, for a table at a pose, in the axes of the space frame {S}; the centre
    of mass is then measured from the origin of {S}.
    """

    link: str
    mass: float
    center_of_mass: Array
    inertia: Array
    inertia_at_center_of_mass: Array


def dh_rows(arm: ArmDescription) -> list[dict[str, Any]]:
    """Return dicts of frame, joint, kind, a, alpha, d, theta, beta for joints and the flange."""
    rows = []
    for number, joint in enumerate(arm.joints, start=1):
        names = {'frame': str(number), 'joint': joint.name, 'kind': joint.kind.value}
        rows.append({**names, **to_json_types(joint.row)})
    names = {'frame': 'flange', 'joint': '', 'kind': 'fixed'}
    rows.append({**names, **to_json_types(arm.flange)})
    return rows


def inertia_rows(arm: ArmDescription, q: Array | None = None) -> list[InertiaRow]:
    """
    Return the links' masses and inertias in the links' frames or, at a pose q, in axes of {S}.

    At a pose `inertia` is R I R^T, S_I in the documentation of the library Exp[licit], still about
    the origin of the link's frame (docs/theory/errata.md).
    """
    if q is None:
        return [
            InertiaRow(
                str(number),
                link.mass,
                link.center_of_mass,
                elements_from_tensor(link.inertia),
                elements_from_tensor(link.inertia_at_center_of_mass),
            )
            for number, link in enumerate(arm.links, start=1)
        ]
    return [
        InertiaRow(
            str(number),
            link.mass,
            link.center_of_mass,
            elements_from_tensor(link.about_frame_origin),
            elements_from_tensor(link.about_center_of_mass),
        )
        for number, link in enumerate(space_inertias(arm, q), start=1)
    ]


def frame_origins(arm: ArmDescription, q: Array) -> Array:
    """Return the origins of frames 1..n and of the flange in {S}, shape (n + 1, 3) [m]."""
    return NewtonEulerModel(arm).frames(q)[:, :3, 3]


def arm_tables(arm: ArmDescription, rows: list[InertiaRow], q: Array | None) -> Iterator[Table]:
    """
    Yield tables of DH rows, frames' origins (at a pose q), centres of mass, inertias, friction.

    `rows` come from `inertia_rows` at the same pose `q`. If `q` is None, inertias are in the
    links' frames, and the table of frame origins is left out. So is friction if there is none.
    """
    place = "in the links' own frames" if q is None else 'in {S}'
    yield _dh_table(arm)
    if q is not None:
        yield _origin_table(arm, q)
    yield _mass_table(rows, place)
    about_origin = [row.inertia for row in rows]
    yield _inertia_table(rows, about_origin, f"{place}, about the frame's origin")
    about_center = [row.inertia_at_center_of_mass for row in rows]
    yield _inertia_table(rows, about_center, f'{place}, about the centre of mass')
    yield from _friction_tables(arm)


def _dh_table(arm: ArmDescription) -> Table:
    """Return the table of an arm's DH rows, with Hayati's angle beta if an axis needs it."""
    rows = dh_rows(arm)
    angles = ['alpha', 'theta']
    if any(row['beta'] for row in rows):  # between nearly parallel axes
        angles.append('beta')
    heads = ['frame', 'joint', 'kind', 'a [m]', 'd [m]', *(f'{angle} [rad]' for angle in angles)]
    cells = [_dh_cells(row, angles) for row in rows]
    return Table(f'{arm.convention.value} Denavit-Hartenberg rows', heads, cells)


def _origin_table(arm: ArmDescription, q: Array) -> Table:
    """Return the table of the frames' origins in {S} at a pose q."""
    names = [*(str(number) for number in range(1, arm.n + 1)), 'flange']
    rows = [[name, *_round_values(origin)] for name, origin in zip(names, frame_origins(arm, q))]
    title = f'origins in {{S}} at q = ({", ".join(f"{value:.6g}" for value in q)})'
    return Table(title, ['frame', *headers('xyz', '.6f', 'm')], rows)


def _mass_table(rows: Sequence[InertiaRow], place: str) -> Table:
    """Return the table of the links' masses and centres of mass; `place` says in what axes."""
    heads: list[Header | str] = [
        'link',
        Header('m', 'kg', '.6g'),
        *headers((f'c {axis}' for axis in 'xyz'), '.6g', 'm'),
    ]
    cells = [[row.link, row.mass, *_round_values(row.center_of_mass)] for row in rows]
    return Table(f'mass and centre of mass {place}', heads, cells)


def _inertia_table(rows: Sequence[InertiaRow], tensors: Sequence[Array], place: str) -> Table:
    """Return the table of the links' tensors, six elements each; `place` says where they are."""
    heads: list[Header | str] = ['link', *headers((f'I {name}' for name in TENSOR_ORDER), '.6g')]
    cells = [[row.link, *_round_values(tensor)] for row, tensor in zip(rows, tensors)]
    return Table(f'inertia [kg m^2] {place}', heads, cells)


def friction_content(arm: ArmDescription) -> dict[str, Any] | None:
    """Return an arm's friction by the keys of arm files, None without friction."""
    friction: Any = arm.friction
    if friction is None:
        return None
    model_names = {cls: name for name, cls in FRICTION_CLASSES.items()}
    keys = [field.name for field in fields(friction) if field.init and field.name != 'covariance']
    coefficients = {key: getattr(friction, key) for key in keys}
    return {'model': model_names[type(friction)], **coefficients}


def _friction_tables(arm: ArmDescription) -> Iterator[Table]:
    """Yield a table of an arm's friction with a row for each joint; none without friction."""
    content = friction_content(arm)
    if content is None:
        return
    heads = ['joint']
    columns: list[list[float]] = []
    for key in _FRICTION_KEYS:
        values = content.get(key)
        if values is None:
            continue
        rows = np.atleast_2d(values).tolist()
        heads += [f'{key} {k}' for k in range(1, len(rows) + 1)] if key == 'slip' else [key]
        columns += rows
    all_turn = all(joint.kind is JointKind.REVOLUTE for joint in arm.joints)
    units = 'N m, rad, s' if all_turn else 'SI units'
    title = f'friction, {content["model"]} [{units}]'
    if content.get('reach') is not None:
        reaches = list_text([f'{reach:g} rad' for reach in content['reach']])
        title += f', slips at {reaches}'
    cells = [[str(k), *row] for k, row in enumerate(zip(*columns), 1)]
    yield Table(title, [heads[0], *headers(heads[1:], '.4g')], cells)


def _round_values(values: Array) -> list[float]:
    """Return numbers rounded to 12 decimals, so that rounding errors of 0 print as 0."""
    return [float(value) for value in np.round(values, 12) + 0.0]


def _dh_cells(row: dict[str, Any], angle_names: Sequence[str]) -> list[str]:
    """Return a DH row's cells as text, with the joint coordinate, such as 'pi/2 + q3'."""
    cells = {key: f'{row[key]:g}' for key in ('a', 'd')}
    cells |= {key: _angle_text(row[key]) for key in angle_names}
    moving = {'revolute': 'theta', 'prismatic': 'd'}.get(row['kind'])
    if moving is not None:
        offset = '' if row[moving] == 0.0 else f'{cells[moving]} + '
        cells[moving] = f'{offset}q{row["frame"]}'
    return [row['frame'], row['joint'], row['kind'], *cells.values()]


def _angle_text(value: float) -> str:
    """Return an angle [rad] as text, such as '-pi/2' for a multiple of pi/4, else as a number."""
    share = Fraction(value / np.pi).limit_denominator(4)
    is_multiple_of_quarter = share.denominator != 3 and float(share) * np.pi == value
    if value == 0.0 or not is_multiple_of_quarter:
        return f'{value:g}'
    sign = '-' if share < 0 else ''
    factor = '' if abs(share.numerator) == 1 else f'{abs(share.numerator)}'
    divisor = '' if share.denominator == 1 else f'/{share.denominator}'
    return f'{sign}{factor}pi{divisor}'


def base_parameter_table(base: BaseParameters, title: str) -> Table:
    """Return a table of base parameters, values and relations."""
    heads = ('parameter', Header('value', format='.6f'), 'unit', 'regrouped from')
    kinds = [base.standard_names[column].rpartition('_')[0] for column in base.columns]
    rows = [
        (
            relation.name,
            value,
            _UNITS_BY_SYMBOL.get(kind, 'kg m^2'),
            '' if len(relation.terms) == 1 else relation,
        )
        for relation, value, kind in zip(base.relations, base.values(), kinds)
    ]
    return Table(title, heads, rows)


def identifiability_sentences(base: BaseParameters) -> Iterator[str]:
    """Yield sentences on parameters without effect on torque, and with effect only in sums."""
    for text, indices in (
        ('no effect', base.unidentifiable_indices),
        ('only in combination with others', base.eliminated_indices),
    ):
        yield f'{text}: {", ".join(base.standard_names[k] for k in indices) or "none"}'


def rank_sentence(arm: ArmDescription, base: BaseParameters, rank: int, error: float) -> str:
    """Return a sentence on base parameters' number, regressor's rank and regrouping's error."""
    bound = ''
    if not base.rotor_inertia:
        bound = f'; at most {max_base_parameter_count(arm)} by Gautier and Khalil'
    return (
        f'{len(base)} base parameters of {len(base.standard_names)} standard ones{bound}; '
        f'random states: rank of the regressor {rank}, torques changed by regrouping {error:.1e}'
    )


def unclear_rank_notes(base: BaseParameters) -> Iterator[str]:
    """Yield a note if the rank of the regressor is hard to decide."""
    gap = base.column_gap
    if not gap.is_clear:
        yield (
            'the geometry is close to one with fewer base parameters (a rank decision rests on '
            f'{gap.min_kept_norm:.1e}, the next lower is {gap.max_dropped_norm:.1e}). If a twist '
            'is meant to be a quarter turn, write it as pi/2 in the arm file.'
        )


class LinkConsistency(NamedTuple):
    """A link's mass [kg] and margins by which its inertia is that of a possible body."""

    joint: str
    mass: float
    pseudo_inertia_eigenvalue: float
    triangle_inequality: float  # A + B - C of the principal moments, C the largest [kg m^2]
    physical: bool


def link_consistency(arm: ArmDescription) -> list[LinkConsistency]:
    """Return each link's mass and its margins of physical consistency."""
    return [
        LinkConsistency(
            joint,
            link.mass,
            link.consistency_margin(),
            link.triangle_margin(),
            link.is_physical(),
        )
        for joint, link in zip(arm.joint_names, arm.links)
    ]


def crosscheck_sentence(result: CrosscheckResult) -> str:
    """Return a sentence on the largest difference from Pinocchio, the tolerance and the states."""
    return (
        f'largest difference from Pinocchio {result.largest:.1e}, tolerance '
        f'{result.tolerance:.0e} ({result.state_count} states, seed {result.seed})'
    )


def file_reading_notes(result: CrosscheckResult, unread_meshes: Sequence[str]) -> Iterator[str]:
    """Yield notes on the reading of a URDF or MJCF that was compared, and on its unread meshes."""
    if result.description.urdf is not None:
        differences = ', '.join(f'{difference}' for difference in result.urdf_differences)
        yield (
            "Compared were three formulations of the arm's dynamics and "
            f"{result.description.urdf.words.reader}'s own reading of the file; largest "
            f'differences from that: {differences}.'
        )
    if unread_meshes:
        yield (
            f'{len(unread_meshes)} of its meshes were not read, such as {unread_meshes[0]}. They '
            'are looked for beside the URDF (package://NAME/ in folders above).'
        )


def conditioning_notes(arm: ArmDescription) -> Iterator[str]:
    """Yield a note if M at the home pose is badly conditioned."""
    mass = NewtonEulerModel(arm).mass_matrix(arm.home_position)
    condition = np.linalg.cond(mass)
    joint = int(np.diag(mass).argmin())
    if condition > _MAX_MASS_MATRIX_CONDITION:
        yield (
            f'the condition number of M at home is {condition:.0f}: {arm.joint_names[joint]} '
            f'moves only {mass[joint, joint]:.1e} (kg m^2, or kg). Gains in proportion to M hold '
            'nothing there; the real joint moves its drive as well, which is not in M.'
        )


def judgement_tables(doubts: Sequence[Judgement], file_name: str) -> list[Table]:
    """Return a list of one table of judgements of a file's numbers, empty if there are none."""
    if not doubts:
        return []
    rows = [(doubt.owner_text, doubt.entry, doubt.reason) for doubt in doubts]
    title = f'numbers of {file_name} that an arm can hardly have'
    return [Table(title, ('of', 'entry', 'because'), rows)]


def crosscheck_tables(result: CrosscheckResult) -> tuple[Table, Table]:
    """
    Return a table of differences by dynamic quantity, and one of links' consistency.

    The latter has each link's mass and margins of physical consistency: the smallest eigenvalue of
    the pseudo-inertia and A + B - C of the principal moments at the centre of mass, C the largest.
    """
    title = f'largest difference from {result.reference}, relative to the largest value'
    rows = []
    for quantity, differences in result.differences.items():
        cells = (
            Cell(difference, '' if difference <= result.tolerance else 'bad')
            for difference in differences.values()
        )
        rows.append([quantity, *cells])
    quantities = Table(title, ['quantity', *headers(result.formulations, '.1e')], rows)
    eigenvalue = Header('eigenvalue of the pseudo-inertia', format='.3g')
    margin = Header('A + B - C', 'kg m^2', '.3g')
    links = [
        [joint, mass, *(Cell(value, '' if physical else 'bad') for value in margins)]
        for joint, mass, *margins, physical in link_consistency(result.description)
    ]
    heads = 'link behind', Header('mass', 'kg', '.4f'), eigenvalue, margin
    title = 'physical consistency (negative: no such body exists)'
    return quantities, Table(title, heads, links)
