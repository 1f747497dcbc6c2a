# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Operational-space control with M, J and the flange's pose from the feedforward node's topics.

F = K e + D (v_d - v) + Lambda (a_d - dJ/dt dq), Lambda = (J M^-1 J^T)^-1, and tau = J^T F + C dq,
with the elbow held in the dynamically consistent null space (Khatib 1987, "A Unified Approach for
Motion and Force Control of Robot Manipulators"). The arm must compensate its own gravity, and the
node's parameter `frame` must have its default. dJ/dt dq is computed from the state, for the arm
named by -p arm:=fer. Ctrl-C ramps the torque to zero, and tracking error and torque are drawn in
`operational_space.png`.
"""

from importlib import import_module

from geometry_msgs.msg import PoseStamped
import numpy as np
from sensor_msgs.msg import JointState

import franka_dynamics as fd

# `import` refuses a module name that starts with a digit.
shared = import_module('06_joint_impedance')

STIFFNESS = np.array([400.0, 400.0, 400.0, 30.0, 30.0, 30.0])  # N/m and N m/rad
DAMPING = np.array([60.0, 60.0, 60.0, 3.0, 3.0, 3.0])  # N s/m and N m s/rad
ELBOW_STIFFNESS = 10.0  # N m/rad
ELBOW_DAMPING = 2.0  # N m s/rad
# Amplitudes of the flange's displacement [m] and rotation [rad] in the base's axes.
REACH = np.array([0.0, 0.2, 0.1, 0.0, 0.0, 0.0])


def rotation_from_to(start, end):
    """Return the small rotation vector [rad], base axes, from quaternion `start` to `end`."""
    vector = start[3] * end[:3] - end[3] * start[:3] - np.cross(end[:3], start[:3])
    return 2.0 * np.copysign(1.0, start @ end) * vector


def pose_arrays(pose):
    """Return position [m] and quaternion (x, y, z, w) of a pose."""
    place = pose.position
    turn = pose.orientation
    return np.array([place.x, place.y, place.z]), np.array([turn.x, turn.y, turn.z, turn.w])


class OperationalSpace(shared.Controller):  # type: ignore[name-defined]
    """Moves the flange to and fro along a line through its first pose, without rotating it."""

    start: tuple[float, np.ndarray, np.ndarray, np.ndarray] | None

    def __init__(self):
        super().__init__('operational_space', 'flange positions', 'mm')
        # terms:=false leaves out M and C dq; J^T alone then maps spring and damper forces to
        # torques.
        names = ('jacobian', *(('mass_matrix', 'coriolis') if self.terms else ()))
        self._desired = self.create_publisher(PoseStamped, '~/desired', 1)
        self._model = fd.Model(self.declare_parameter('arm', 'fer').value)
        topics = {
            'state': (JointState, 'joint_states'),
            'pose': (PoseStamped, 'feedforward/pose'),
        }
        self.listen(topics | {name: (JointState, f'feedforward/{name}') for name in names})

    def answer(self, stamp, messages):
        """Publish the torques for the joint state of a stamp [s]."""
        q, dq = self.measured(messages['state'])
        jacobian = np.reshape(messages['jacobian'].effort, (6, len(q)))
        x, rotation = pose_arrays(messages['pose'].pose)
        if not self.start:
            self.start = (stamp + shared.HOLD_S, x, rotation, q)
        begin, x_0, rotation_0, q_0 = self.start
        offset, v_d, a_d = (REACH * wave for wave in shared.smooth_wave(stamp - begin))
        x_d = x_0 + offset[:3]
        force = STIFFNESS * np.append(
            x_d - x, rotation_from_to(rotation, rotation_0)
        ) + DAMPING * (v_d - jacobian @ dq)
        elbow = ELBOW_STIFFNESS * (q_0 - q) - ELBOW_DAMPING * dq
        if self.terms:
            mass_matrix = np.reshape(messages['mass_matrix'].effort, (len(q), len(q)))
            reaction = np.linalg.solve(mass_matrix, jacobian.T)  # M^-1 J^T
            inertia = np.linalg.inv(jacobian @ reaction)
            force += inertia @ (a_d - self._model.bias_acceleration(q, dq))
            elbow -= jacobian.T @ (inertia @ (reaction.T @ elbow))
            elbow += messages['coriolis'].effort
        else:
            elbow -= jacobian.T @ np.linalg.lstsq(jacobian.T, elbow, rcond=None)[0]
        self.send(jacobian.T @ force + elbow, stamp - begin, x_d - x)
        self._publish_desired(messages['pose'], x_d)

    def _publish_desired(self, pose, x_d):
        desired = PoseStamped(header=pose.header)
        place = desired.pose.position
        place.x, place.y, place.z = x_d.tolist()
        self._desired.publish(desired)


if __name__ == '__main__':
    raise SystemExit(shared.run(OperationalSpace))
