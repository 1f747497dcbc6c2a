# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes model terms on the topics that have subscribers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
import pinocchio as pin
from sensor_msgs.msg import JointState

from .external_watch import ExternalWatch
from .messages import effort_message
from .qos import PUBLISHER_QOS
from ..control.feedforward import Feedforward
from ..control.terms import StateTerms
from ..dynamics.model import frame_index
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import shortened
from ..typing import Array

_TWIST_ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')
_WRENCH_ROWS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')
# A function that makes a message of a state, its command and stamp, or returns None without data.
Maker = Callable[[StateTerms, Array | None, Time], Any]


class TermPublishers:
    """
    Publishes model terms, external torque and wrench, and a copy of each command (~/feedforward).

    `frame` is the frame whose Jacobian (LOCAL_WORLD_ALIGNED) and pose are published. Raises
    FrameError if the arm has no such frame.
    """

    def __init__(
        self,
        node: Any,
        controller: Feedforward,
        frame: int | str,
        external: ExternalWatch,
    ) -> None:
        self._controller, self._external = controller, external
        description = controller.description
        self._names = list(description.joint_names)
        self._frame_index = frame_index(frame, description)
        self._base_frame = base_frame_id(self._names[0])

        def model() -> PinocchioModel:
            return controller.law.terms.true

        square = [f'{row}/{column}' for row in self._names for column in self._names]
        twist = [f'{row}/{column}' for row in _TWIST_ROWS for column in self._names]
        spread = [f'{row}/{column}' for row in _WRENCH_ROWS for column in _WRENCH_ROWS]
        # For each topic the labels of the array's entries, and a function that returns the array,
        # or None while unknown.
        arrays: dict[str, tuple[list[str], Callable[[StateTerms, Array | None], Array | None]]] = {
            'feedforward': (self._names, lambda _, command: command),
            'gravity': (self._names, lambda state, _: state.gravity),
            'coriolis': (self._names, lambda state, _: state.coriolis),
            'inertia_torque': (self._names, lambda state, _: state.inertia),
            'external_torque': (self._names, lambda *_: external.torque()),
            'external_wrench_covariance': (spread, self._wrench_covariance),
            'mass_matrix': (
                square,
                lambda state, _: model().mass_matrix(state.q),
            ),
            'coriolis_matrix': (
                square,
                lambda state, _: model().coriolis_matrix(state.q, state.dq),
            ),
            'jacobian': (
                twist,
                lambda state, _: model().jacobian(state.q, frame),
            ),
        }
        makers: list[tuple[type, str, Maker]] = [
            *((JointState, name, partial(self._array, *row)) for name, row in arrays.items()),
            (WrenchStamped, 'external_wrench', self._wrench),
            (PoseStamped, 'pose', self._pose),
        ]
        self._publishers = [
            (node.create_lifecycle_publisher(kind, f'~/{name}', PUBLISHER_QOS), make)
            for kind, name, make in makers
        ]
        self._node = node
        self._subscribed: list[tuple[Any, Maker]] = []
        self._given_up: set[str] = set()  # topics whose terms raised an error

    def refresh(self) -> None:
        """Update which topics have subscribers; ConfiguredArm calls this every 20 ms."""
        self._subscribed = [
            entry
            for entry in self._publishers
            if entry[0].get_subscription_count() > 0 and entry[0].topic_name not in self._given_up
        ]

    @property
    def has_listeners(self) -> bool:
        """Whether any topic had a subscriber at the last `refresh`."""
        return bool(self._subscribed)

    def publish(self, state: StateTerms, command: Array | None, stamp: Time) -> None:
        """
        Publish the subscribed terms of a state and its command, with the state's stamp.

        If a term raises an error, the error is logged, and the term is no longer published. This
        cannot affect ~/command, which is published before the terms.
        """
        for publisher, make in self._subscribed:
            try:
                term = make(state, command, stamp)
            except Exception as error:
                self._given_up.add(publisher.topic_name)
                self._node.get_logger().error(
                    f'{publisher.topic_name} is not published any more: '
                    f'{shortened(repr(error), 200)}; configure the node anew, and report this'
                )
                self.refresh()
                continue
            if term is not None:
                publisher.publish(term)

    def destroy(self) -> None:
        """Destroy the publishers."""
        for publisher, _ in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)
        self._publishers, self._subscribed = [], []

    def _array(
        self,
        names: list[str],
        of: Callable[[StateTerms, Array | None], Array | None],
        state: StateTerms,
        command: Array | None,
        stamp: Time,
    ) -> JointState | None:
        found = of(state, command)
        return None if found is None else effort_message(stamp, names, found, self._base_frame)

    def _wrench(self, state: StateTerms, _: Array | None, stamp: Time) -> WrenchStamped | None:
        estimate = self._external.wrench(state.q)
        if estimate is None:
            return None
        message = WrenchStamped()
        message.header.stamp, message.header.frame_id = stamp, self._base_frame
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z = estimate.wrench[:3].tolist()
        torque.x, torque.y, torque.z = estimate.wrench[3:].tolist()
        return message

    def _wrench_covariance(self, state: StateTerms, _: Array | None) -> Array | None:
        estimate = self._external.wrench(state.q)
        return None if estimate is None else estimate.covariance

    def _pose(self, state: StateTerms, _: Array | None, stamp: Time) -> PoseStamped:
        pose = self._controller.law.terms.true.frames(state.q)[self._frame_index]
        values = pin.SE3ToXYZQUAT(pin.SE3(pose))
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = stamp, self._base_frame
        position, orientation = message.pose.position, message.pose.orientation
        position.x, position.y, position.z = (float(value) for value in values[:3])
        orientation.x, orientation.y, orientation.z, orientation.w = (
            float(value) for value in values[3:]
        )
        return message


def base_frame_id(first_joint: str) -> str:
    """Return the base link's name by joint 1's: x_joint1 -> x_link0; base if it lacks `joint`."""
    stem, found, _ = first_joint.rpartition('joint')
    return f'{stem}link0' if found else 'base'
