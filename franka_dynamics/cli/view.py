# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics view`: an arm with its torques in the browser, live or from a bag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import ArmOptions
from ._interrupts import until_interrupted
from ._options import gravity_option
from ._recording_options import RecordingOptions
from ._say import ProgressBar, say
from ..arm import ArmDescription
from ..options import option

if TYPE_CHECKING:
    from ..view.meshes import ArmMeshes
    from ..view.window import Window

    _Work = Callable[[Window, Callable[[], bool]], None]


@dataclass(frozen=True, kw_only=True)
class View(RecordingOptions, ArmOptions):
    """Show an arm with its torques in the browser, beside a running node or from a bag."""

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
        'port; the next free one if it is in use', default=8080, least=0, most=65535
    )

    def run(self) -> int:
        """Serve until interrupted."""
        from ..view.window import Window

        if self.bag:
            self.refuse('a bag: no node runs', 'node')
        else:
            of_bags = ('joint_names', 'stamps', 'rate', 'cutoff', 'trim', 'gravity')
            self.require_with('a BAG', *of_bags)
        description = self.load_arm()
        meshes = self._meshes(description)
        work = self._playback(self.bag, description) if self.bag else self._watch(description)
        with Window(description, self.host, self.port) as window:
            if meshes is not None:
                window.show_meshes(meshes)
            with until_interrupted() as go_on:
                say(f'open {window.address} in a browser; Ctrl-C ends')
                work(window, go_on)
        return 0

    def _meshes(self, description: ArmDescription) -> ArmMeshes | None:
        """Return the meshes of the URDF that was named, if one was."""
        from ..urdf.document import read_urdf
        from ..view.meshes import urdf_meshes

        if self.urdf is None:
            return None
        return urdf_meshes(read_urdf(self.urdf), description.joint_names)

    def _playback(self, bag: str, description: ArmDescription) -> _Work:
        from ..recordings.preprocessing import prepare
        from ..view.window import play, Playback

        with ProgressBar() as bar:
            motion = prepare(self.read(bag, description, bar), self.signal)
            playback = Playback(description, motion, self.gravity)
        return lambda window, go_on: play(window, playback, go_on)

    def _watch(self, description: ArmDescription) -> _Work:
        from ..ros.live_view import watch

        return lambda window, go_on: watch(
            window,
            description,
            self.topic or 'joint_states',
            self.node,
            go_on,
            look_for_meshes=self.urdf is None,
        )
