# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `arm show`, `arm import` and `arm export`.

They print an arm's tables or base parameters, write arm files from URDFs, and files from arms. An
imported arm file is checked against Pinocchio.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

import numpy as np

from .choices import ArmChoice, forbid_options, forbid_without, was_option_given
from .console import echo, echo_each, print_or_write, print_rich, write_json
from .option_types import require_not_existing
from .options import INERTIA_OPTION_NAMES
from .requests import ImportRequest
from ..arm import ArmDescription, LinkInertia, load, load_hand
from ..arm.arm_file import arm_file_text, is_urdf_or_mjcf
from ..arm.frames import to_modified_convention
from ..arm.hands import hand_title, is_file_path
from ..arm.inertia import TENSOR_ORDER
from ..arm.payload import desk_json
from ..arrays import Array
from ..constants import Convention, GRAVITY, NO_HAND, parse_float
from ..cpp_package.package import controller_arm_text
from ..errors import DescriptionError, InertiaError
from ..files import write_text
from ..parameters.base_parameters import base_parameters, GRAVITY_BASIS_M_S2, NO_GRAVITY
from ..report import arm as report
from ..spatial import JointKind
from ..tracking.friction_export import FRICTION_WRITERS
from ..urdf.generated_files import robot_file_text
from ..urdf.importer import import_urdf
from ..validation.source_models import compare_with_urdf, MAX_FILE_DIFFERENCE_RATIO

_FULL_TURN_RAD = 2.0 * np.pi  # [rad]; beyond it a position is taken for degrees
# Largest rounding error that regrouping may cause in an entry of a regressor whose columns have
# unit length.
_MAX_REGROUPING_ERROR = 1e-9
# By the directions of --base-parameters: the vectors of gravity that torques are known for.
_GRAVITY_VECTORS = {
    'vertical': [GRAVITY],
    'tilted': GRAVITY_BASIS_M_S2,
    'none': [NO_GRAVITY],
}


def show_arm(
    choice: ArmChoice,
    positional: str | None,
    q: Sequence[str],
    base_parameters: str | None,
    symbolic: str | None,
    json: Path | None,
) -> int:
    """Print or write an arm's tables or base parameters; return 1 if torques contradict these."""
    if positional is not None:
        forbid_options(f'{positional}, the same as --arm {positional}', 'arm')
        choice = replace(choice, arm=positional)
    if symbolic or base_parameters:
        forbid_options('base parameters, which hold at every pose', 'q')
        direction = base_parameters or 'vertical'
        if symbolic:
            return _print_symbolic_parameters(choice, direction, symbolic)
        return _print_base_parameters(choice, direction, json)
    arm = choice.load()
    pose = _positions_from_words(arm, q) if q else None
    rows = report.inertia_rows(arm, pose)
    data = {
        'arm': arm,
        'convention': arm.convention,
        'base': arm.base,
        'denavit_hartenberg': report.dh_rows(arm),
        'q': pose,
        'origins': None if pose is None else report.frame_origins(arm, pose),
        'inertia_order': TENSOR_ORDER,
        'links': rows,
        'friction': report.friction_content(arm),
    }
    write_json(json, data)
    echo(choice.title(arm))
    print_rich(f'source: {arm.source}')
    warned_notes = arm.torque_notes  # on standard error, when the arm was loaded
    notes = [note for note in arm.notes if note not in warned_notes]
    echo_each((*notes, *arm.repairs), 'note')
    echo_each(arm.inconsistencies(), 'warning')
    print_rich(*report.arm_tables(arm, rows, pose))
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
    is_revolute = np.array([joint.kind is JointKind.REVOLUTE for joint in arm.joints])
    joints_beyond_a_turn = np.flatnonzero(is_revolute & (np.abs(q) > _FULL_TURN_RAD))
    if joints_beyond_a_turn.size:
        joint = joints_beyond_a_turn[0]
        in_radians = np.where(is_revolute, np.radians(q), q)
        radians = ','.join(f'{position:.5g}' for position in in_radians)
        raise DescriptionError(
            f'--q has {q[joint]:g} rad at {arm.joint_names[joint]}, more than a '
            f'turn; is the pose in degrees? In radians it is --q {radians}.'
        )
    return q


def _print_symbolic_parameters(choice: ArmChoice, gravity_direction: str, text_format: str) -> int:
    """Print each base parameter as an expression, as text or LaTeX; return 0."""
    forbid_options('--symbolic: the relations hold for any masses', *INERTIA_OPTION_NAMES)
    forbid_options('--symbolic, which writes the relations alone', 'json')
    # Here, because it needs sympy.
    from ..parameters.symbolic_parameters import symbolic_base_parameters

    arm = choice.load()
    modified = to_modified_convention(arm)
    if modified is not arm:
        print(
            f'{arm.name} has standard DH rows; the parameters are in the frames of the '
            "equivalent modified rows, whose z axes are the joints' axes.",
            file=sys.stderr,
        )
    symbols = symbolic_base_parameters(modified, np.array(_GRAVITY_VECTORS[gravity_direction]))
    text = symbols.as_latex() if text_format == 'latex' else symbols.as_text()
    sys.stdout.write(text)
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


def import_arm(request: ImportRequest, xacro: Mapping[str, str]) -> int:
    """
    Convert a URDF to an arm file, and print how far the two differ; return 1 if they disagree.

    The arm file is written if both agree, or with --anyway. They are compared as it is read by
    this package, and the URDF by Pinocchio.
    """
    require_not_existing(request.output, request.force)
    arm = import_urdf(
        Path(request.urdf),
        convention=Convention(request.convention),
        name=request.name,
        tip=request.tip,
        prefix=request.prefix,
        xacro=xacro,
        joint_names=request.joints,
        held=dict(request.held),
    )
    assert arm.urdf is not None  # import_urdf always sets it
    echo_each(arm.notes, 'note')
    names_without_prefix = [name.removeprefix(request.prefix) for name in arm.joint_names]
    content = arm_file_text(
        arm.with_joint_names(names_without_prefix),
        source=f'imported from {Path(request.urdf).name}',
    )
    differences = compare_with_urdf(_reloaded_arm(content, arm))
    passed = all(difference.passed for difference in differences)
    if passed or request.anyway:
        write_text(request.output, content)
        span = f'{arm.n} joints from {names_without_prefix[0]} to {names_without_prefix[-1]}'
        echo(f'{request.output}: {span}, flange {arm.urdf.tip_link}, {request.convention} DH rows')
    difference_texts = ', '.join(f'{difference}' for difference in differences)
    echo(
        f"the arm file against {arm.urdf.words.reader}'s own reading of it: largest differences "
        f'{difference_texts} (tolerance {MAX_FILE_DIFFERENCE_RATIO:.0e} of the size of each)',
        'pass' if passed else 'MISMATCH',
    )
    if not (passed or request.anyway):
        echo(f'{request.output} was not written; --anyway writes it nevertheless.')
    return 0 if passed else 1


def _reloaded_arm(file_text: str, arm: ArmDescription) -> ArmDescription:
    """Return an arm as it is loaded again from its arm file's text, for a comparison."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / 'arm.yaml'
        file.write_text(file_text, encoding='utf-8')
        return replace(load(file).with_joint_names(arm.joint_names), urdf=arm.urdf)


def export_arm(
    choice: ArmChoice, output: Path | None, form: str, *, force: bool, ideal: bool
) -> int:
    """Print or write the arm, its friction or its load, in the format of --format; return 0."""
    if output is None:
        forbid_without('--output', 'force')
    require_not_existing(output, force)
    export_format = _export_format(form, output)
    texts = {
        **FRICTION_WRITERS,
        'controller': controller_arm_text,
        'desk': _end_effector_text,
    }
    if export_format in texts:
        text = texts[export_format](choice.load())
    else:
        is_user_file = is_file_path(choice.arm) or is_urdf_or_mjcf(choice.arm)
        text = robot_file_text(
            choice.load(),
            export_format,
            user_file=Path(choice.arm).name if is_user_file else '',
            prefix=choice.prefix,
            ideal=ideal,
        )
    print_or_write(text, output)
    return 0


def _export_format(form: str, output: Path | None) -> str:
    """Return --format, or mjcf for a file of that ending; refuse options without effect on it."""
    export_format = form
    if output is not None and output.suffix == '.mjcf' and export_format != 'mjcf':
        forbid_options(f'{output}, whose ending says MJCF', 'form')
        export_format = 'mjcf'
    if export_format != 'mjcf':
        forbid_without('--format mjcf', 'ideal')
    if export_format in FRICTION_WRITERS:
        alone = f'--format {export_format}, which holds the friction of the joints alone'
        forbid_options(alone, 'hand', 'payload', 'prefix')
    if export_format == 'desk':
        forbid_options('--format desk, which names no joint', 'prefix')
    return export_format


def _end_effector_text(arm: ArmDescription) -> str:
    """Return Desk's file of an arm's hand and payload; raise InertiaError if it has neither."""
    if arm.hand == NO_HAND or was_option_given('hand'):  # else the set brings a hand
        forbid_options('--format desk, which holds hand and payload alone', 'inertial_set')
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
