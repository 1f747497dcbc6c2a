# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `arm show`, `arm import` and `arm export`.

They print an arm's tables or base parameters, write arm files from URDFs, and files from arms. An
imported arm file is checked against Pinocchio.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

import numpy as np

from .choices import ArmChoice, forbid_options, forbid_without, Options
from .console import echo, echo_each, print_or_write, print_rich, write_json
from .options import INERTIA_OPTION_NAMES, require_not_existing
from ..arm import ArmDescription, LinkInertia, load, load_hand
from ..arm.arm_file import arm_file_text, is_urdf_or_mjcf
from ..arm.bodies import hand_title, is_file_path, NO_HAND
from ..arm.frames import to_modified_convention
from ..arm.inertia import TENSOR_ORDER
from ..arm.payload import desk_json
from ..arrays import Array
from ..constants import Convention, GRAVITY, GRAVITY_DIRECTIONS, parse_float
from ..cpp_package.package import controller_arm_text
from ..errors import DescriptionError, InertiaError
from ..files import write_text
from ..identification.base_parameters import (
    base_parameters,
    GRAVITY_BASIS_M_S2,
    NO_GRAVITY,
)
from ..identification.friction_export import FRICTION_WRITERS
from ..report import arm as report
from ..spatial import JointKind
from ..urdf.generated_files import robot_file_text
from ..urdf.importer import import_urdf
from ..validation.source_models import compare_with_urdf, MAX_FILE_DIFFERENCE_RATIO

_FULL_TURN_RAD = 2.0 * np.pi  # [rad]; beyond it a position is taken for degrees
# Largest rounding error that regrouping may cause in an entry of a regressor whose columns have
# unit length.
_MAX_REGROUPING_ERROR = 1e-9
_GRAVITY_VECTORS = dict(zip(GRAVITY_DIRECTIONS, ([GRAVITY], GRAVITY_BASIS_M_S2, [NO_GRAVITY])))


def show_arm(arm: ArmChoice, options: Options) -> int:
    """Print or write an arm's tables or base parameters; return 1 if torques contradict these."""
    if options.positional is not None:
        forbid_options(f'{options.positional}, the same as --arm {options.positional}', 'arm')
        arm = replace(arm, arm=options.positional)
    if options.symbolic or options.base_parameters:
        forbid_options('base parameters, which hold at every pose', 'q')
        direction = options.base_parameters or 'vertical'
        if options.symbolic:
            return _print_symbolic_parameters(arm, direction, options.symbolic)
        return _print_base_parameters(arm, direction, options.json)
    description = arm.load()
    pose = _positions_from_words(description, options.q) if options.q else None
    rows = report.inertia_rows(description, pose)
    data = {
        'arm': description,
        'convention': description.convention,
        'base': description.base,
        'denavit_hartenberg': report.dh_rows(description),
        'q': pose,
        'origins': None if pose is None else report.frame_origins(description, pose),
        'inertia_order': TENSOR_ORDER,
        'links': rows,
        'friction': report.friction_content(description),
    }
    write_json(options.json, data)
    echo(arm.title(description))
    print_rich(f'source: {description.source}')
    warned = description.torque_notes  # on standard error, when the arm was loaded
    notes = [note for note in description.notes if note not in warned]
    echo_each((*notes, *description.repairs), 'note')
    echo_each(description.inconsistencies(), 'warning')
    print_rich(*report.arm_tables(description, rows, pose))
    echo(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
    return 0


def _positions_from_words(arm: ArmDescription, words: Sequence[str]) -> Array:
    """Return positions (n,) [rad, m] from the words of --q; raise DescriptionError if unusable."""
    if words == ('zero',):
        return np.zeros(arm.n)
    if words == ('home',) and arm.home is not None:
        return np.array(arm.home)
    try:
        values = [parse_float(word) for word in words]
    except ValueError:
        known = 'zero' if arm.home is None else 'zero, home'
        raise DescriptionError(
            f'--q takes {known} or {arm.n} numbers; got {",".join(words)}.'
        ) from None
    q = arm.joint_vector(values, '--q')
    turns = np.array([joint.kind is JointKind.REVOLUTE for joint in arm.joints])
    beyond = np.flatnonzero(turns & (np.abs(q) > _FULL_TURN_RAD))
    if beyond.size:
        radians = ','.join(f'{one:.5g}' for one in np.where(turns, np.radians(q), q))
        raise DescriptionError(
            f'--q has {q[beyond[0]]:g} rad at {arm.joint_names[beyond[0]]}, more than a '
            f'turn; is the pose in degrees? In radians it is --q {radians}.'
        )
    return q


def _print_symbolic_parameters(choice: ArmChoice, gravity_direction: str, text_format: str) -> int:
    """Print each base parameter as an expression, as text or LaTeX; return 0."""
    forbid_options('--symbolic: the relations hold for any masses', *INERTIA_OPTION_NAMES)
    forbid_options('--symbolic, which writes the relations alone', 'json')
    from ..identification.symbolic_parameters import (
        symbolic_base_parameters,
    )  # needs sympy

    arm = choice.load()
    modified = to_modified_convention(arm)
    if modified is not arm:
        print(
            f'{arm.name} has standard DH rows; the parameters are in the frames of the '
            "equivalent modified rows, whose z axes are the joints' axes.",
            file=sys.stderr,
        )
    symbols = symbolic_base_parameters(modified, np.array(_GRAVITY_VECTORS[gravity_direction]))
    sys.stdout.write(getattr(symbols, f'as_{text_format}')())
    return 0


def _print_base_parameters(choice: ArmChoice, gravity_direction: str, json: Path | None) -> int:
    """Print an arm's base parameters; return 1 if torques at random states contradict them."""
    arm = choice.load()
    parameters = base_parameters(arm, np.array(_GRAVITY_VECTORS[gravity_direction]))
    rank, lost = parameters.check_at_random_states()
    write_json(json, {'rank': rank, 'values': parameters.values(), 'parameters': parameters})
    title = f'{choice.title(arm)}: base parameters, gravity {gravity_direction}'
    print_rich(report.base_parameter_table(parameters, title))
    echo_each(report.identifiability_sentences(parameters))
    agree = rank == len(parameters) and lost < _MAX_REGROUPING_ERROR
    echo(report.rank_sentence(arm, parameters, rank, lost), '' if agree else 'MISMATCH')
    echo_each(report.unclear_rank_notes(parameters), 'note')
    return 0 if agree else 1


def import_arm(options: Options) -> int:
    """
    Write the arm file of a URDF's arm if both agree, or with --anyway; return 1 if they differ.

    Prints notes and the differences of the arm file from Pinocchio's model of the URDF.
    """
    require_not_existing(options.output, options.force)
    given = {name: getattr(options, name) for name in ('name', 'tip', 'prefix', 'xacro')}
    given |= {'joint_names': options.joints, 'held': dict(options.held)}
    arm = import_urdf(Path(options.urdf), convention=Convention(options.convention), **given)
    assert arm.urdf is not None
    echo_each(arm.notes, 'note')
    plain = arm.with_joint_names([one.removeprefix(options.prefix) for one in arm.joint_names])
    content = arm_file_text(plain, source=f'imported from {Path(options.urdf).name}')
    found = compare_with_urdf(_reloaded_arm(content, arm))
    passed = all(one.passed for one in found)
    if passed or options.anyway:
        write_text(options.output, content)
        span = f'{arm.n} joints from {plain.joint_names[0]} to {plain.joint_names[-1]}'
        echo(f'{options.output}: {span}, flange {arm.urdf.tip_link}, {options.convention} DH rows')
    differences = ', '.join(f'{one}' for one in found)
    echo(
        f"the arm file against {arm.urdf.words.reader}'s own reading of it: largest differences "
        f'{differences} (tolerance {MAX_FILE_DIFFERENCE_RATIO:.0e} of the size of each)',
        'pass' if passed else 'MISMATCH',
    )
    if not (passed or options.anyway):
        echo(f'{options.output} was not written; --anyway writes it nevertheless.')
    return 0 if passed else 1


def _reloaded_arm(file_text: str, arm: ArmDescription) -> ArmDescription:
    """Return an arm as it is loaded again from its arm file's text, for a comparison."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / 'arm.yaml'
        file.write_text(file_text, encoding='utf-8')
        return replace(load(file).with_joint_names(arm.joint_names), urdf=arm.urdf)


def export_arm(arm: ArmChoice, options: Options) -> int:
    """Print or write the arm, its friction or its load, in the format of --format; return 0."""
    if options.output is None:
        forbid_without('--output', 'force')
    require_not_existing(options.output, options.force)
    output = options.output
    form = options.form
    if output is not None and output.suffix == '.mjcf' and form != 'mjcf':
        forbid_options(f'{output}, whose ending says MJCF', 'form')
        form = 'mjcf'
    if form != 'mjcf':
        forbid_without('--format mjcf', 'ideal')
    if form in FRICTION_WRITERS:
        alone = f'--format {form}, which holds the friction of the joints alone'
        forbid_options(alone, 'hand', 'payload', 'prefix')
    if form == 'desk':
        forbid_options('--format desk, which names no joint', 'prefix')
    texts = {
        **FRICTION_WRITERS,
        'controller': controller_arm_text,
        'desk': _end_effector_text,
    }
    if form in texts:
        print_or_write(texts[form](arm.load()), output)
        return 0
    own = is_file_path(arm.arm) or is_urdf_or_mjcf(arm.arm)
    source = Path(arm.arm).name if own else ''
    prefix = arm.prefix
    text = robot_file_text(arm.load(), form, user_file=source, prefix=prefix, ideal=options.ideal)
    print_or_write(text, output)
    return 0


def _end_effector_text(arm: ArmDescription) -> str:
    """Return Desk's file of an arm's hand and payload; InertiaError if it carries nothing."""
    hand = LinkInertia.zero() if arm.hand == NO_HAND else load_hand(arm.hand)
    load = hand + arm.payload
    if not load.mass:
        raise InertiaError(
            f'{arm.name} has nothing on its flange: name its --hand, or give a --payload.'
        )
    name = 'payload' if arm.hand == NO_HAND else hand_title(arm.hand)
    if arm.hand != NO_HAND and arm.payload.mass:
        name = f'{name} with payload'
    return desk_json(load, name)
