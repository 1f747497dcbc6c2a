# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics view`, which shows an arm in the browser."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from .choices import ArmChoice, BagReader, forbid_options, forbid_without
from .console import echo, ProgressBar
from .end_signals import catch_end_signals
from ..arm import ArmDescription
from ..arm.arm_file import is_urdf_or_mjcf
from ..arrays import Array
from ..recordings.preprocessing import to_motion
from ..urdf.reading import parse_robot, read_robot_text
from ..view.meshes import ArmMeshes, MeshesError, urdf_meshes
from ..view.page import ArmPage, show_positions, show_recording


def show_arm(
    choice: ArmChoice,
    reader: BagReader,
    bag: str | None,
    urdf: str | None,
    host: str,
    port: int,
) -> int:
    """Serve a browser page that shows the arm, live or from a bag, until Ctrl-C; return 0."""
    xacro = choice.xacro
    if urdf is not None:
        forbid_options('--urdf, whose meshes are shown', 'hand')
        if _is_xacro_path(urdf) and not _is_xacro_path(choice.arm):
            choice = replace(choice, xacro={})  # NAME:=VALUE is for --urdf alone
    if bag:
        choice = reader.arm_in_bag(bag, choice)
    else:
        forbid_without('a BAG', 'joint_names', 'stamp_kind')
        # Imported here, so that without ROS the command fails before anything starts.
        from ..ros import topic_listener  # noqa: F401
    arm = choice.load()
    meshes = _meshes(choice, xacro, arm, urdf)
    motion = None
    if bag:
        with ProgressBar() as bar:
            motion = to_motion(reader.read_recording(bag, arm, bar))
    with ArmPage(arm, host, port) as page:
        if meshes is not None:
            page.show_meshes(meshes)
        with catch_end_signals() as keep_running:
            echo(f'open {page.address} in a browser; Ctrl-C ends')
            if motion is not None:
                show_recording(page, motion, keep_running)
            else:
                _show_live(page, arm, reader.topic or 'joint_states', keep_running)
    return 0


def _meshes(
    choice: ArmChoice, xacro: Mapping[str, str], arm: ArmDescription, urdf: str | None
) -> ArmMeshes | None:
    """
    Return the meshes of --urdf or of the arm's URDF, or None if simple shapes are to be shown.

    `xacro` are the arguments of the file if it is a xacro file.

    Raises MeshesError if the meshes of --urdf cannot be shown; those of the arm's URDF need not.
    """
    if urdf is None and not is_urdf_or_mjcf(choice.arm):
        return None
    file = choice.arm if urdf is None else urdf
    text = read_robot_text(Path(file), xacro if _is_xacro_path(file) else None)
    # Only for its error, which names the file, as the error of the meshes' reader does not.
    parse_robot(text, file, Path(file))
    try:
        return urdf_meshes(text, arm.joint_names)
    except MeshesError as error:
        if urdf is not None:
            raise
        echo(f'simple shapes are shown: {error}', 'note')
        return None


def _is_xacro_path(file: str) -> bool:
    """Return whether --urdf or --arm names a xacro file."""
    return file.endswith('.xacro')


def _show_live(
    page: ArmPage, arm: ArmDescription, topic: str, keep_running: Callable[[], bool]
) -> None:
    """Show the arm at the joint states of a topic; say once why there are none."""
    from ..ros.topic_listener import ArmPositionListener

    with ArmPositionListener(arm.joint_names, topic) as arm_states:
        told_problem = ''

        def read_position() -> Array | None:
            """Return the newest positions, or None; print the problem if it has changed."""
            nonlocal told_problem
            position = arm_states.read_position()
            if arm_states.problem != told_problem:
                told_problem = arm_states.problem
                echo(told_problem or 'joint states come', 'note')
            return position

        show_positions(page, read_position, keep_running)
