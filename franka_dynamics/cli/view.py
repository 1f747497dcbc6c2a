# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics view`: an arm with its torques in the browser, live or from a bag."""

from __future__ import annotations

from ._interrupts import until_interrupted
from ._say import ProgressBar, say
from .actions import View
from ..recordings.preprocessing import prepare
from ..urdf.document import parse_urdf, read_urdf
from ..view.meshes import urdf_meshes
from ..view.window import play, Playback, Window


def run(given: View) -> int:
    """Serve the page until Ctrl-C."""
    if given.bag:
        given.refuse('a bag: no node runs', 'node')
    else:
        of_bags = ('joint_names', 'stamps', 'rate', 'cutoff', 'trim', 'gravity')
        given.require_with('a BAG', *of_bags)
        from ..ros.live_view import watch  # without ROS this fails before anything starts
    arm = given.load_arm()
    meshes = None
    if given.urdf is not None:
        urdf = read_urdf(given.urdf)
        parse_urdf(urdf, str(given.urdf))  # names the file, as the reader of meshes does not
        meshes = urdf_meshes(urdf, arm.joint_names)
    if given.bag:
        with ProgressBar() as bar:
            motion = prepare(given.read(given.bag, arm, bar), given.signal)
            playback = Playback(arm, motion, given.gravity)
    with Window(arm, given.host, given.port) as window:
        if meshes is not None:
            window.show_meshes(meshes)
        with until_interrupted() as go_on:
            say(f'open {window.address} in a browser; Ctrl-C ends')
            if given.bag:
                play(window, playback, go_on)
            else:
                topic, look = given.topic or 'joint_states', given.urdf is None
                watch(window, arm, topic, given.node, go_on, look_for_meshes=look)
    return 0
