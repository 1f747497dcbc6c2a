# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes model terms, external torque and wrench on the topics that have subscribers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
import pinocchio as pin
from sensor_msgs.msg import JointState

from .messages import doubles, PUBLISHER_QOS
from ..control.external_wrench import ExternalWrench, WrenchEstimator
from ..control.feedforward import Feedforward
from ..control.terms import StateTerms
from ..dynamics.model import FLANGE, frame_index
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import shortened
from ..typing import Array

_ROWS = {
    'twist': ('vx', 'vy', 'vz', 'wx', 'wy', 'wz'),
    'wrench': ('fx', 'fy', 'fz', 'mx', 'my', 'mz'),
}
# A function that makes a message of a state, its command and stamp, or returns None without data.
Maker = Callable[[StateTerms, Array | None, Time], Any]

# Topics of JointState messages, whose effort is an array: the kind of the array's labels, and a
# function of publishers, state and command that returns the array, or None while unknown.
_ARRAYS: dict[str, tuple[str, Callable[[TermPublishers, StateTerms, Array | None], Any]]] = {
    'feedforward': ('joint', lambda own, state, command: command),
    'gravity': ('joint', lambda own, state, _: state.gravity),
    'coriolis': ('joint', lambda own, state, _: state.coriolis),
    'inertia_torque': ('joint', lambda own, state, _: state.inertia),
    'external_torque': ('joint', lambda own, *_: own.torque()),
    'external_wrench_covariance': ('wrench/wrench', lambda own, state, _: own.covariance(state.q)),
    'mass_matrix': ('joint/joint', lambda own, state, _: own.model.mass_matrix(state.q)),
    'coriolis_matrix': (
        'joint/joint',
        lambda own, state, _: own.model.coriolis_matrix(state.q, state.dq),
    ),
    'jacobian': ('twist/joint', lambda own, state, _: own.model.jacobian(state.q, own.frame)),
}


class TermPublishers:
    """
    Publishes model terms, external torque and wrench, and a copy of each command (~/feedforward).

    `use` gives the controller whose terms are published.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._makers: dict[str, Maker] = {
            **{name: partial(self._array, *row) for name, row in _ARRAYS.items()},
            'external_wrench': self._wrench,
            'pose': self._pose,
        }
        others = {'external_wrench': WrenchStamped, 'pose': PoseStamped}
        self._publishers = {
            name: node.create_lifecycle_publisher(
                others.get(name, JointState), f'~/{name}', PUBLISHER_QOS
            )
            for name in self._makers
        }
        self.frame: int | str = FLANGE
        self._failed: set[str] = set()
        self._subscribed: list[str] = []

    def use(
        self,
        controller: Feedforward,
        frame: int | str = FLANGE,
        tool_center: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """
        Publish the terms of a controller from now on.

        `frame` is the frame whose Jacobian (LOCAL_WORLD_ALIGNED) and pose are published. The
        external wrench acts at its point `tool_center` [m]. Raises FrameError if the arm has no
        such frame; SettingsError if `tool_center` is not three numbers within 10 m.
        """
        self._controller, self.frame, self._center = controller, frame, tool_center
        self._estimator = WrenchEstimator(self.model, frame, tool_center)
        names = list(controller.description.joint_names)
        self._frame_index = frame_index(frame, controller.description)
        self._base_frame = base_frame_id(names[0])
        rows = {'joint': names, **_ROWS}
        self._labels = {
            kind: ['/'.join(row) for row in product(*map(rows.__getitem__, kind.split('/')))]
            for kind, _ in _ARRAYS.values()
        }
        self._failed.clear()
        self.refresh()

    @property
    def model(self) -> PinocchioModel:
        """The arm's model, with payload, by the present settings."""
        return self._controller.law.terms.true

    def refresh(self) -> None:
        """Update which topics have subscribers; the node calls this every 20 ms."""
        self._subscribed = [
            name
            for name, publisher in self._publishers.items()
            if name not in self._failed and publisher.get_subscription_count() > 0
        ]

    def publish(self, state: StateTerms, command: Array | None, stamp: Time) -> None:
        """
        Publish the subscribed terms of a state and its command, with the state's stamp.

        If a term raises an error, the error is logged, and the term is no longer published. This
        cannot affect ~/command, which is published before the terms.
        """
        for name in self._subscribed:
            try:
                term = self._makers[name](state, command, stamp)
            except Exception as error:
                self._failed.add(name)
                self._node.get_logger().error(
                    f'~/{name} is not published any more: '
                    f'{shortened(repr(error), 200)}; configure the node anew, and report this'
                )
                self.refresh()
                continue
            if term is not None:
                self._publishers[name].publish(term)

    def torque(self) -> Array | None:
        """
        Return the external torque, shape (n,) [N m], signed as FCI's tau_ext.

        Returns None if effort is not measured, and until enough good states have come.
        """
        torques = self._controller.residuals
        return (
            torques.external_torque
            if torques.measured and self._controller.has_usable_states
            else None
        )

    def wrench(self, q: Array) -> ExternalWrench | None:
        """Return the external wrench at positions q, shape (n,) [rad]; None if torque() is."""
        if self._estimator.model is not self.model:  # a payload was put on
            self._estimator = WrenchEstimator(self.model, self.frame, self._center)
        torque = self.torque()
        # The estimated torque lags behind the arm, but the Jacobian is taken at the position q.
        return None if torque is None else self._estimator.estimate(q, torque)

    def covariance(self, q: Array) -> Array | None:
        """Return the covariance of the external wrench at positions q; None while unknown."""
        estimate = self.wrench(q)
        return None if estimate is None else estimate.covariance

    def _array(
        self,
        kind: str,
        of: Callable[[TermPublishers, StateTerms, Array | None], Array | None],
        state: StateTerms,
        command: Array | None,
        stamp: Time,
    ) -> JointState | None:
        found = of(self, state, command)
        if found is None:
            return None
        message = JointState(name=self._labels[kind], effort=doubles(found))
        # RViz's Effort display ignores messages without a frame.
        message.header.stamp, message.header.frame_id = stamp, self._base_frame
        return message

    def _wrench(self, state: StateTerms, _: Array | None, stamp: Time) -> WrenchStamped | None:
        estimate = self.wrench(state.q)
        if estimate is None:
            return None
        message = WrenchStamped()
        message.header.stamp, message.header.frame_id = stamp, self._base_frame
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = estimate.wrench.tolist()
        return message

    def _pose(self, state: StateTerms, _: Array | None, stamp: Time) -> PoseStamped:
        pose = self.model.frames(state.q)[self._frame_index]
        values = pin.SE3ToXYZQUAT(pin.SE3(pose)).tolist()
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = stamp, self._base_frame
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w = values
        return message


def base_frame_id(first_joint: str) -> str:
    """Return the base link's name by joint 1's: x_joint1 -> x_link0; base if it lacks `joint`."""
    stem, found, _ = first_joint.rpartition('joint')
    return f'{stem}link0' if found else 'base'
