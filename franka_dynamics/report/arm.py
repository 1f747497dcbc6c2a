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
from ..identification.base_parameters import BaseParameters, max_base_parameter_count
from ..validation.crosscheck import CrosscheckResult

# Coefficients of friction models, one for each joint, in the order of a table.
_FRICTION_KEYS = (
    'amplitude',
    'slope',
    'viscous',
    'coulomb',
    'offset',
    'slip',
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
    named = [(str(i), one.name, one.kind.value, one.row) for i, one in enumerate(arm.joints, 1)]
    return [
        {'frame': frame, 'joint': joint, 'kind': kind, **to_json_types(row)}
        for frame, joint, kind, row in (*named, ('flange', '', 'fixed', arm.flange))
    ]


def inertia_rows(arm: ArmDescription, q: Array | None = None) -> list[InertiaRow]:
    """
    Return the links' masses and inertias in the links' frames or, at a pose q, in axes of {S}.

    At a pose `inertia` is R I R^T, S_I in the documentation of the library Exp[licit], still about
    the origin of the link's frame (docs/theory/errata.md).
    """
    links: Sequence[Any] = arm.links if q is None else space_inertias(arm, q)
    names = 'about_frame_origin', 'about_center_of_mass'
    if q is None:
        names = 'inertia', 'inertia_at_center_of_mass'
    rows = []
    for i, link in enumerate(links, start=1):
        tensors = (elements_from_tensor(getattr(link, name)) for name in names)
        rows.append(InertiaRow(str(i), link.mass, link.center_of_mass, *tensors))
    return rows


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
    hayati = any(row['beta'] for row in dh_rows(arm))  # between nearly parallel axes
    angles = ('alpha', 'theta', 'beta')[: 3 if hayati else 2]
    heads: tuple[Header | str, ...] = 'frame', 'joint', 'kind', 'a [m]', 'd [m]'
    heads += tuple(f'{one} [rad]' for one in angles)
    cells: list[list[Any]] = [_dh_cells(row, angles) for row in dh_rows(arm)]
    yield Table(f'{arm.convention.value} Denavit-Hartenberg rows', heads, cells)
    if q is not None:
        names = [*(str(i + 1) for i in range(arm.n)), 'flange']
        title = f'origins in {{S}} at q = ({", ".join(f"{value:.6g}" for value in q)})'
        origins = zip(names, frame_origins(arm, q))
        cells = [[name, *_round_values(origin)] for name, origin in origins]
        yield Table(title, ['frame', *headers('xyz', '.6f', 'm')], cells)
    heads = (
        'link',
        Header('m', 'kg', '.6g'),
        *headers((f'c {a}' for a in 'xyz'), '.6g', 'm'),
    )
    cells = [[row.link, row.mass, *_round_values(row.center_of_mass)] for row in rows]
    yield Table(f'mass and centre of mass {place}', heads, cells)
    for about, tensors in (
        ("about the frame's origin", [row.inertia for row in rows]),
        ('about the centre of mass', [row.inertia_at_center_of_mass for row in rows]),
    ):
        heads = 'link', *headers((f'I {name}' for name in TENSOR_ORDER), '.6g')
        cells = [[row.link, *_round_values(tensor)] for row, tensor in zip(rows, tensors)]
        yield Table(f'inertia [kg m^2] {place}, {about}', heads, cells)
    yield from _friction_tables(arm)


def friction_content(arm: ArmDescription) -> dict[str, Any] | None:
    """Return an arm's friction by the keys of arm files, None without friction."""
    friction: Any = arm.friction
    if friction is None:
        return None
    models = {own: name for name, own in FRICTION_CLASSES.items()}
    keys = (one.name for one in fields(friction) if one.init)
    content = {key: getattr(friction, key) for key in keys if key != 'covariance'}
    return {'model': models[type(friction)], **content}


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
    turning = all(one.kind is JointKind.REVOLUTE for one in arm.joints)
    title = f'friction, {content["model"]} [{"N m, rad, s" if turning else "SI units"}]'
    if content.get('reach') is not None:
        title += f', slips at {list_text([f"{one:g} rad" for one in content["reach"]])}'
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
    part = Fraction(value / np.pi).limit_denominator(4)
    if not part or float(part) * np.pi != value or part.denominator == 3:
        return f'{value:g}'
    top = f'{"-" if part < 0 else ""}{"" if abs(part.numerator) == 1 else abs(part.numerator)}pi'
    return top if part.denominator == 1 else f'{top}/{part.denominator}'


def base_parameter_table(base: BaseParameters, title: str) -> Table:
    """Return a table of base parameters, values and relations."""
    heads = ('parameter', Header('value', format='.6f'), 'unit', 'regrouped from')
    kinds = [base.standard_names[column].rpartition('_')[0] for column in base.columns]
    rows = [
        (
            one.name,
            value,
            _UNITS_BY_SYMBOL.get(kind, 'kg m^2'),
            '' if len(one.terms) == 1 else one,
        )
        for one, value, kind in zip(base.relations, base.values(), kinds)
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
        yield (
            "Compared were three formulations of the arm's dynamics and "
            f"{result.description.urdf.words.reader}'s own reading of the file; largest "
            f'differences from that: {", ".join(f"{one}" for one in result.urdf_differences)}.'
        )
    if unread_meshes:
        yield (
            f'{len(unread_meshes)} of its meshes were not read, such as {unread_meshes[0]}. They '
            'are looked for beside the URDF (package://NAME/ in folders above), and read if scipy '
            'is installed.'
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
    rows = [(one.owner_text, one.entry, one.reason) for one in doubts]
    title = f'numbers of {file_name} that an arm can hardly have'
    return [Table(title, ('of', 'entry', 'because'), rows)] if rows else []


def crosscheck_tables(result: CrosscheckResult) -> tuple[Table, Table]:
    """
    Return a table of differences by dynamic quantity, and one of links' consistency.

    The latter has each link's mass and margins of physical consistency: the smallest eigenvalue of
    the pseudo-inertia and A + B - C of the principal moments at the centre of mass, C the largest.
    """
    title = f'largest difference from {result.reference}, relative to the largest value'
    rows = []
    for quantity, row in result.differences.items():
        cells = (Cell(one, '' if one <= result.tolerance else 'bad') for one in row.values())
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
