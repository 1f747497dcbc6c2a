# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Shows a running arm in the browser, with its joint states and the node's torque terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import time
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from .messages import DESCRIPTION_QOS, JointReading, JointStateReader, STATE_QOS
from .observer import Observer
from ..arm import ArmDescription
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import JointStateError
from ..view.meshes import MeshesError, urdf_meshes
from ..view.scene import COMMANDED, CORIOLIS, EXTERNAL, GRAVITY, INERTIA, MEASURED, ViewState
from ..view.window import Window

PERIOD_S = 0.05  # time between two updates [s]
TERM_TOPICS = {
    GRAVITY: 'gravity',
    CORIOLIS: 'coriolis',
    INERTIA: 'inertia_torque',
    COMMANDED: 'feedforward',
    EXTERNAL: 'external_torque',
}
_DISCOVERY_S = 1.0  # wait for a topic and a node named without their namespace [s]
_STALE_S = 0.5  # age above which a received term is not used [s]


class LiveView(Observer):
    """
    Collects joint states and torque terms of one arm from their topics; a context manager.

    Subscriptions to joint states and terms are best effort with depth 1 and read once per update,
    so that the view hardly loads a running controller. The arm's model gives g and C dq if the
    node's g and C dq are missing or older than 0.5 s. `joint_states` and `node` may be named
    without their namespace.
    """

    def __init__(self, description: ArmDescription, joint_states: str, node: str) -> None:
        super().__init__('view')
        self._names = list(description.joint_names)
        self._reader = JointStateReader(self._names)
        self._model = PinocchioModel(description)
        self._reading: JointReading | None = None
        self._began: float | None = None
        self._terms: dict[str, tuple[float, np.ndarray]] = {}  # with the time of arrival
        self.urdf: str | None = None  # from robot_state_publisher, if one runs
        node, (topic,) = self.find(_DISCOVERY_S, node, [joint_states])
        self.problem = f'waiting for {topic}'
        self.subscribe(JointState, topic, self._on_state, STATE_QOS, raw=True)
        description_topic = f'{topic.rpartition("/")[0]}/robot_description'
        self.subscribe(String, description_topic, self._on_urdf, DESCRIPTION_QOS)
        for column, name in TERM_TOPICS.items():
            take = partial(self._on_term, column)
            self.subscribe(JointState, f'{node}/{name}', take, STATE_QOS)

    def read(self) -> ViewState | None:
        """Return the newest state without waiting, or None if none has arrived."""
        self.poll()
        reading = self._reading
        if reading is None:
            return None
        q, dq = reading.position, reading.velocity
        torques = {GRAVITY: self._model.gravity(q), CORIOLIS: self._model.coriolis(q, dq)}
        if reading.effort is not None:
            torques[MEASURED] = reading.effort
        fresh = time.monotonic() - _STALE_S
        torques |= {column: torque for column, (at, torque) in self._terms.items() if at > fresh}
        if self._began is None or reading.stamp < self._began:
            self._began = reading.stamp
        return ViewState(reading.stamp - self._began, q, torques)

    def _on_state(self, data: bytes) -> None:
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            self.problem = str(error)
            return
        if np.isfinite(reading.position).all() and np.isfinite(reading.velocity).all():
            self._reading, self.problem = reading, ''

    def _on_urdf(self, message: String) -> None:
        self.urdf = message.data

    def _on_term(self, column: str, message: JointState) -> None:
        torques = dict(zip(message.name, message.effort))
        if torques.keys() >= set(self._names):
            torque = np.array([torques[name] for name in self._names])
            self._terms[column] = time.monotonic(), torque


def watch(
    window: Window,
    description: ArmDescription,
    joint_states: str,
    node: str,
    go_on: Callable[[], bool],
    look_for_meshes: bool = False,
) -> None:
    """
    Show a running arm until `go_on` returns False.

    `go_on` is called once per update, every 0.05 s. With `look_for_meshes` the meshes of the URDF
    on /robot_description are shown, if their packages are installed.
    """
    shown: Any = None
    with LiveView(description, joint_states, node) as view:
        while go_on():
            began = time.monotonic()
            state = view.read()
            if view.problem != shown:
                shown = window.note.content = view.problem
            if look_for_meshes and view.urdf is not None:
                look_for_meshes = False
                try:
                    window.show_meshes(urdf_meshes(view.urdf, description.joint_names))
                except MeshesError as error:
                    window.remark.content = f'{error}'
            if state is not None:
                window.show(state)
            time.sleep(max(0.0, PERIOD_S - (time.monotonic() - began)))
