# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics view`: an arm with its torques in the browser, live or from a bag."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ._arm_options import ArmOptions
from ._interrupts import until_interrupted
from ._options import gravity_option
from ._recording_options import RecordingOptions
from ._say import ProgressBar, say
from ..options import option


@dataclass(frozen=True, kw_only=True)
class View(RecordingOptions, ArmOptions):
    """Show an arm with its torques in the browser, from the running system or from a bag."""

    bag: str | None = option(
        'a rosbag2 folder, or one .mcap or .db3 file (default: the running system)',
        'BAG',
        positional=True,
        default=None,
    )
    gravity: tuple[float, float, float] = gravity_option(', for a bag')
    urdf: Path | None = option(
        'show the meshes of this URDF (.xacro is expanded), whose packages must be installed '
        "(default: the running arm's robot_description, or else the simple collision shapes)",
        'FILE',
        default=None,
    )
    node: str = option('the feedforward node whose terms are shown', 'NAME', default='feedforward')
    host: str = option(
        'address to serve; with 0.0.0.0 everybody in the network can open the page',
        'ADDRESS',
        default='127.0.0.1',
    )
    port: int = option(
        'port; if it is in use, the next free port', default=8080, least=0, most=65535
    )

    def run(self) -> int:
        """Serve the page until Ctrl-C."""
        from ..recordings.preprocessing import prepare
        from ..urdf.document import read_urdf
        from ..view.meshes import urdf_meshes
        from ..view.window import play, Playback, Window

        if self.bag:
            self.refuse('a bag: no node runs', 'node')
        else:
            of_bags = ('joint_names', 'stamps', 'rate', 'cutoff', 'trim', 'gravity')
            self.require_with('a BAG', *of_bags)
            from ..ros.live_view import watch  # without ROS this fails before anything starts
        arm = self.load_arm()
        urdf = None if self.urdf is None else read_urdf(self.urdf)
        meshes = None if urdf is None else urdf_meshes(urdf, arm.joint_names)
        if self.bag:
            with ProgressBar() as bar:
                motion = prepare(self.read(self.bag, arm, bar), self.signal)
                playback = Playback(arm, motion, self.gravity)
        with Window(arm, self.host, self.port) as window:
            if meshes is not None:
                window.show_meshes(meshes)
            with until_interrupted() as go_on:
                say(f'open {window.address} in a browser; Ctrl-C ends')
                if self.bag:
                    play(window, playback, go_on)
                else:
                    topic, look = self.topic or 'joint_states', self.urdf is None
                    watch(window, arm, topic, self.node, go_on, look_for_meshes=look)
        return 0
