# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm import`: a serial arm's URDF -> an arm file, checked against Pinocchio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ._console import say, say_each
from ._options import require_not_existing
from ..arm import ArmDescription, load
from ..arm.arm_file_writer import arm_file_text
from ..files import write_text
from ..names import Convention
from ..urdf.importer import import_urdf
from ..validation.pinocchio_urdf_model import compare_with_urdf, MAX_READING_DIFFERENCE_RATIO


def run(
    urdf: str,
    output: Path,
    force: bool,
    anyway: bool,
    name: str | None,
    joints: Sequence[str],
    hold: Sequence[tuple[str, float]],
    tip: str | None,
    arm_prefix: str,
    convention: str,
    xacro: Mapping[str, str],
) -> int:
    """
    Write the arm file of a URDF's arm; print notes and its differences from the URDF.

    If the arm file differs from Pinocchio's model of the URDF, return 1, and write the file
    only with --anyway.
    """
    require_not_existing(output, force)
    arm = import_urdf(
        Path(urdf),
        name=name,
        joint_names=joints,
        held=dict(hold),
        tip=tip,
        prefix=arm_prefix,
        convention=Convention(convention),
        xacro=xacro,
    )
    assert arm.urdf is not None
    say_each(arm.notes, 'note')
    plain = arm.with_joint_names([one.removeprefix(arm_prefix) for one in arm.joint_names])
    content = arm_file_text(plain, source=f'imported from {Path(urdf).name}')
    found = compare_with_urdf(_read_again(content, arm))
    passed = all(one.passed for one in found)
    if passed or anyway:
        write_text(output, content)
        span = f'{arm.n} joints from {plain.joint_names[0]} to {plain.joint_names[-1]}'
        say(f'{output}: {span}, flange {arm.urdf.tip}, {convention} DH rows.')
    differences = ', '.join(f'{one}' for one in found)
    say(
        f"the arm file against {arm.urdf.words.reader}'s own reading of it: largest differences "
        f'{differences} (tolerance {MAX_READING_DIFFERENCE_RATIO:.0e} of the size of each)',
        'pass' if passed else 'MISMATCH',
    )
    if not (passed or anyway):
        say(f'{output} was not written; --anyway writes it nevertheless.')
    return 0 if passed else 1


def _read_again(content: str, arm: ArmDescription) -> ArmDescription:
    """Return the arm that users will load from the arm file's text, to be compared."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / 'arm.yaml'
        file.write_text(content, encoding='utf-8')
        return replace(load(file).with_joint_names(arm.joint_names), urdf=arm.urdf)
