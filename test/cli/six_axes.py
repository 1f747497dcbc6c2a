# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A six-axis industrial arm of the size of a UR5, as a URDF."""

QUARTER = '1.5707963267948966'
# Offset and turn before each joint, axis, mass, centre of mass, radius of gyration [m]; torque
# limit.
ROWS = [
    ('0 0 0.09', '0 0 0', '0 0 1', 3.8, (0.0, 0.03, 0.02), 0.08, 150),
    ('0 0.14 0', f'0 {QUARTER} 0', '0 1 0', 8.4, (0.0, 0.02, 0.21), 0.14, 150),
    ('0 -0.12 0.43', '0 0 0', '0 1 0', 2.3, (0.0, 0.01, 0.17), 0.12, 150),
    ('0 0 0.39', f'0 {QUARTER} 0', '0 1 0', 1.2, (0.01, 0.05, 0.0), 0.05, 28),
    ('0 0.09 0', '0 0 0', '0 0 1', 1.2, (0.0, 0.0, 0.06), 0.05, 28),
    ('0 0 0.09', '0 0 0', '0 1 0', 0.25, (0.01, 0.04, 0.0), 0.04, 28),
]


def six_axes(extra=''):
    """Return the arm's URDF."""
    parts = ['<robot name="six"><link name="link0"/>']
    for k, (xyz, rpy, axis, mass, center, radius, torque) in enumerate(ROWS, start=1):
        moment = mass * radius**2
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="{center[0]} {center[1]} {center[2]}" '
            f'rpy="0.1 0.2 0.3"/><mass value="{mass}"/><inertia ixx="{moment}" ixy="0" ixz="0" '
            f'iyy="{1.1 * moment}" iyz="0" izz="{0.9 * moment}"/></inertial></link>'
            f'<joint name="axis{k}" type="revolute"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            f'<limit effort="{torque}" velocity="3.1" lower="-3" upper="3"/></joint>'
        )
    return ''.join(parts) + extra + '</robot>'
