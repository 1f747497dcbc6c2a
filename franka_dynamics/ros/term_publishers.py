# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes the model terms that somebody subscribes to; others are computed only if needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
import numpy as np
from numpy.typing import NDArray
import pinocchio as pin
from sensor_msgs.msg import JointState

from .external_watch import ExternalWatch
from .messages import effort_message
from .qos import PUBLISHER_QOS
from ..control.feedforward import FeedforwardController
from ..control.terms import StateTerms
from ..dynamics.model import frame_index
from ..errors import shortened

_TWIST_ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')
_WRENCH_ROWS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')


class TermPublishers:
    """
    Publishes model terms, external torque and wrench.

    `frame` is the frame whose Jacobian and pose are published; FrameError if the arm has no such
    frame.
    """

    def __init__(
        self,
        node: Any,
        controller: FeedforwardController,
        frame: int | str,
        reference_frame: str,
        external: ExternalWatch,
    ) -> None:
        self._controller, self._external = controller, external
        description = controller.description
        self._names = list(description.joint_names)
        self._frame = frame
        self._frame_index = frame_index(frame, description.n)
        self._reference_frame = reference_frame
        self.base_frame = base_frame_id(self._names[0])  # frame id of all torque messages
        self._square = [f'{row}/{column}' for row in self._names for column in self._names]
        self._twist = [f'{row}/{column}' for row in _TWIST_ROWS for column in self._names]
        self._wrench_names = [f'{row}/{column}' for row in _WRENCH_ROWS for column in _WRENCH_ROWS]
        torque = self._torque
        terms: dict[str, tuple[type, Callable[[StateTerms, Time], Any]]] = {
            'gravity': (JointState, torque(lambda state: state.gravity)),
            'coriolis': (JointState, torque(lambda state: state.coriolis)),
            'inertia_torque': (JointState, torque(lambda state: state.inertia)),
            'external_torque': (JointState, torque(lambda _: external.torque())),
            'external_wrench': (WrenchStamped, self._wrench),
            'external_wrench_covariance': (JointState, self._wrench_covariance),
            'mass_matrix': (JointState, self._mass_matrix),
            'coriolis_matrix': (JointState, self._coriolis_matrix),
            'jacobian': (JointState, self._jacobian),
            'pose': (PoseStamped, self._pose),
        }
        self._publishers = [
            (node.create_lifecycle_publisher(kind, f'~/{name}', PUBLISHER_QOS), make)
            for name, (kind, make) in terms.items()
        ]
        self._node = node
        self._subscribed: list[tuple[Any, Callable[[StateTerms, Time], Any]]] = []
        self._given_up: set[str] = set()  # topics whose terms raised an error

    def refresh(self) -> None:
        """Update which topics have subscribers; called every 20 ms, not in every cycle."""
        self._subscribed = [
            entry
            for entry in self._publishers
            if entry[0].get_subscription_count() > 0 and entry[0].topic_name not in self._given_up
        ]

    @property
    def has_listeners(self) -> bool:
        """Whether any topic has a subscriber."""
        return bool(self._subscribed)

    def publish(self, state: StateTerms, stamp: Time) -> None:
        """
        Publish the subscribed terms with the stamp of their joint state.

        A term that raises an error is logged and no longer computed; the command, published
        before, is not affected.
        """
        for publisher, make in self._subscribed:
            try:
                term = make(state, stamp)
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

    def _torque(
        self, of: Callable[[StateTerms], NDArray[np.float64] | None]
    ) -> Callable[[StateTerms, Time], JointState | None]:
        """Return the function that makes the message of a torque, None without one."""

        def make(state: StateTerms, stamp: Time) -> JointState | None:
            torque = of(state)
            if torque is None:
                return None
            return effort_message(stamp, self._names, torque, self.base_frame)

        return make

    def _wrench(self, state: StateTerms, stamp: Time) -> WrenchStamped | None:
        estimate = self._external.wrench(state.q)
        if estimate is None:
            return None
        message = WrenchStamped()
        message.header.stamp, message.header.frame_id = stamp, self.base_frame
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z = estimate.wrench[:3].tolist()
        torque.x, torque.y, torque.z = estimate.wrench[3:].tolist()
        return message

    def _wrench_covariance(self, state: StateTerms, stamp: Time) -> JointState | None:
        estimate = self._external.wrench(state.q)
        if estimate is None:
            return None
        return effort_message(stamp, self._wrench_names, estimate.covariance, self.base_frame)

    def _mass_matrix(self, state: StateTerms, stamp: Time) -> JointState:
        return effort_message(
            stamp, self._square, self._controller.terms.true.mass_matrix(state.q)
        )

    def _coriolis_matrix(self, state: StateTerms, stamp: Time) -> JointState:
        return effort_message(
            stamp, self._square, self._controller.terms.true.coriolis_matrix(state.q, state.dq)
        )

    def _jacobian(self, state: StateTerms, stamp: Time) -> JointState:
        return effort_message(
            stamp,
            self._twist,
            self._controller.terms.true.jacobian(state.q, self._frame, self._reference_frame),
        )

    def _pose(self, state: StateTerms, stamp: Time) -> PoseStamped:
        pose = self._controller.terms.true.frames(state.q)[self._frame_index]
        values = pin.SE3ToXYZQUAT(pin.SE3(pose))
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = stamp, self.base_frame
        position, orientation = message.pose.position, message.pose.orientation
        position.x, position.y, position.z = (float(value) for value in values[:3])
        orientation.x, orientation.y, orientation.z, orientation.w = (
            float(value) for value in values[3:]
        )
        return message


def base_frame_id(first_joint: str) -> str:
    """Return the name Franka's URDF gives the base link of a joint: fer_joint1 -> fer_link0."""
    stem, found, _ = first_joint.rpartition('joint')
    return f'{stem}link0' if found else 'base'
