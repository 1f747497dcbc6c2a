# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics view`, which shows an arm in the browser."""

from pathlib import Path

from .choices import ArmChoice, BagReader, forbid_options, forbid_without, Options
from .console import catch_end_signals, echo, ProgressBar
from ..arm.arm_file import is_urdf_or_mjcf
from ..arrays import Array
from ..recordings.preprocessing import to_motion
from ..urdf.reading import parse_robot, read_robot_text
from ..view.meshes import MeshesError, urdf_meshes
from ..view.page import ArmPage, show_positions, show_recording


def run(arm: ArmChoice, reader: BagReader, options: Options) -> int:
    """Serve a browser page that shows the arm, live or from a bag, until Ctrl-C; return 0."""
    if options.urdf is not None:
        forbid_options('--urdf, whose meshes are shown', 'hand')
    if options.bag:
        arm = reader.arm_in_bag(options.bag, arm)
    else:
        forbid_without('a BAG', 'joint_names', 'stamp_kind')
        # Without ROS this fails before anything starts.
        from ..ros.topic_listener import ArmPositionListener
    description = arm.load()
    file = options.urdf or (arm.arm if is_urdf_or_mjcf(arm.arm) else None)
    meshes = None
    if file is not None:
        text = read_robot_text(Path(file), arm.xacro if options.urdf is None else None)
        parse_robot(text, file, Path(file))  # names the file, as the reader of meshes does not
        try:
            meshes = urdf_meshes(text, description.joint_names)
        except MeshesError as error:
            if options.urdf is not None:
                raise
            echo(f'simple shapes are shown: {error}', 'note')
    if options.bag:
        with ProgressBar() as bar:
            motion = to_motion(reader.read_recording(options.bag, description, bar))
    with ArmPage(description, options.host, options.port) as window:
        if meshes is not None:
            window.show_meshes(meshes)
        with catch_end_signals() as keep_running:
            echo(f'open {window.address} in a browser; Ctrl-C ends')
            if options.bag:
                show_recording(window, motion, keep_running)
                return 0
            topic = reader.topic or 'joint_states'
            with ArmPositionListener(description.joint_names, topic) as arm_states:
                told = ''

                def read_position() -> Array | None:
                    """Return the newest positions, or None; say once why there are none."""
                    nonlocal told
                    position = arm_states.read_position()
                    if arm_states.problem != told:
                        told = arm_states.problem
                        echo(told or 'joint states come', 'note')
                    return position

                show_positions(window, read_position, keep_running)
    return 0
