# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `arm import` and `arm export`, which write arm files from URDFs and files from arms.

An imported arm file is checked against Pinocchio.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ._choices import ArmChoice, forbid_options, Options, require_option
from ._console import print_or_write, say, say_each
from ._options import require_not_existing
from ..arm import ArmDescription, load
from ..arm.arm_file import arm_file_text, is_robot_source
from ..arm.bodies import is_file_name
from ..cpp_package.package import controller_arm_text
from ..files import write_text
from ..identification.other_controllers import FRICTION_TEXTS
from ..names import Convention
from ..urdf.generated_files import robot_file_text
from ..urdf.importer import import_urdf
from ..validation.source_models import compare_with_urdf, MAX_READING_DIFFERENCE_RATIO


def import_arm(options: Options) -> int:
    """
    Write the arm file of a URDF's arm; print notes and its differences from the URDF.

    If the arm file differs from Pinocchio's model of the URDF, return 1, and write the file only
    with --anyway.
    """
    require_not_existing(options.output, options.force)
    given = {name: getattr(options, name) for name in ('name', 'tip', 'prefix', 'xacro')}
    given |= {'joint_names': options.joints, 'held': dict(options.held)}
    arm = import_urdf(Path(options.urdf), convention=Convention(options.convention), **given)
    assert arm.urdf is not None
    say_each(arm.notes, 'note')
    plain = arm.with_joint_names([one.removeprefix(options.prefix) for one in arm.joint_names])
    content = arm_file_text(plain, source=f'imported from {Path(options.urdf).name}')
    found = compare_with_urdf(_reloaded_arm(content, arm))
    passed = all(one.passed for one in found)
    if passed or options.anyway:
        write_text(options.output, content)
        span = f'{arm.n} joints from {plain.joint_names[0]} to {plain.joint_names[-1]}'
        say(f'{options.output}: {span}, flange {arm.urdf.tip}, {options.convention} DH rows.')
    differences = ', '.join(f'{one}' for one in found)
    say(
        f"the arm file against {arm.urdf.terms.reader}'s own reading of it: largest differences "
        f'{differences} (tolerance {MAX_READING_DIFFERENCE_RATIO:.0e} of the size of each)',
        'pass' if passed else 'MISMATCH',
    )
    if not (passed or options.anyway):
        say(f'{options.output} was not written; --anyway writes it nevertheless.')
    return 0 if passed else 1


def _reloaded_arm(content: str, arm: ArmDescription) -> ArmDescription:
    """Return an arm as it is loaded again from its arm file's text, for a comparison."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / 'arm.yaml'
        file.write_text(content, encoding='utf-8')
        return replace(load(file).with_joint_names(arm.joint_names), urdf=arm.urdf)


def export_arm(arm: ArmChoice, options: Options) -> int:
    """Print the arm in a format or write it to a file."""
    require_not_existing(options.output, options.force)
    output, form = options.output, options.form
    if output is not None and output.suffix == '.mjcf' and form != 'mjcf':
        forbid_options(f'{output}, whose ending says MJCF', 'form')
        form = 'mjcf'
    if form != 'mjcf':
        require_option('--format mjcf', 'ideal')
    texts = {**FRICTION_TEXTS, 'controller': controller_arm_text}
    if form in texts:
        print_or_write(texts[form](arm.load()), output)
        return 0
    own = is_file_name(arm.arm) or is_robot_source(arm.arm)
    source, prefix = Path(arm.arm).name if own else '', arm.prefix
    text = robot_file_text(arm.load(), form, source=source, prefix=prefix, ideal=options.ideal)
    print_or_write(text, output)
    return 0
