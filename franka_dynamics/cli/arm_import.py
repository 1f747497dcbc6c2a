# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm import`: a serial arm's URDF -> an arm file, checked against Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ._options import require_new
from ._say import say, say_each
from ..arm import load
from ..arm.arm_file_writer import arm_file_text
from ..files import write_text
from ..names import Convention
from ..urdf.document import read_urdf
from ..urdf.importer import import_urdf
from ..urdf.serial_chain import read_chain
from ..validation.pinocchio_urdf import reading_differences

# Tolerance for the entries of poses [m, 1] and for torques [N m]. Rounding angles of 11 digits to
# multiples of pi/2 in the DH rows changes torques of 1000 N m by 3e-9 N m. Differences above the
# tolerance come from nearly parallel axes or an error.
TOLERANCE = 1e-6


def run(
    urdf: str,
    output: Path,
    force: bool,
    anyway: bool,
    name: str | None,
    joints: Sequence[str],
    tip: str | None,
    arm_prefix: str,
    convention: str,
) -> int:
    """
    Write the arm file, print notes and the differences from the URDF.

    If the arm file differs from Pinocchio's model of the URDF, return 1, and write the file
    only with --anyway.
    """
    require_new(output, force)
    text = read_urdf(Path(urdf))
    arm = import_urdf(
        text,
        source=urdf,
        name=name,
        joint_names=joints,
        tip=tip,
        prefix=arm_prefix,
        convention=Convention(convention),
    )
    say_each(arm.notes, 'note')
    chain = read_chain(text, arm.joint_names)
    tip = tip or chain.flange or chain.joints[-1].link
    plain = arm.with_joint_names([one.removeprefix(arm_prefix) for one in arm.joint_names])
    content = arm_file_text(plain, source=f'imported from {Path(urdf).name}')
    # The check loads the arm file's text, as users will, not the imported description.
    with TemporaryDirectory() as folder:
        file = Path(folder) / 'arm.yaml'
        file.write_text(content, encoding='utf-8')
        named = load(file).with_joint_names(arm.joint_names)
    torque, pose = reading_differences(text, named, tip)
    passed = torque <= TOLERANCE and pose <= TOLERANCE
    why = '' if passed else '; the axes agree, so masses were probably read wrongly: report it'
    if pose > TOLERANCE:
        why = '; angles written with few digits make nearly parallel axes'
    if passed or anyway:
        write_text(output, content)
        say(
            f'{output}: {arm.n} joints from {plain.joint_names[0]} to '
            f'{plain.joint_names[-1]}, flange {tip}, {convention} DH rows.'
        )
    say(
        "the arm file's DH rows against Pinocchio's model of the URDF: flange poses differ by "
        f'up to {pose:.2g} (m, 1) and joint torques by up to {torque:.2g} N m '
        f'(tolerance {TOLERANCE:.0e}){why}.',
        'pass' if passed else 'MISMATCH',
    )
    if not (passed or anyway):
        say(f'{output} was not written; --anyway writes it nevertheless.')
    return 0 if passed else 1
