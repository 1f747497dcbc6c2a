# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the kernels that read an arm from arrays keep their numbers (see `any_arm`)."""

from .generated_kernels import LANES

# Columns of `rows`.
PRISMATIC, COS, SIN, X, Y, Z, THETA, ROTOR = range(8)
MASS, HX, HY, HZ, SXX, SXY, SXZ, SYY, SYZ = range(8, 17)
ROW = 17

# Places in W, each of a vector. Ahead is the acceleration of the next joint's origin.
OMEGA, SPIN, AHEAD, ACCELERATION, FORCE, MOMENT = (3 * k * LANES for k in range(6))
SCRATCH = 18 * LANES

# Places in a row of `kept`; the link's force and moment are vectors.
SINE, COSINE, RATE, PUSH, LINK_FORCE = (k * LANES for k in range(5))
LINK_MOMENT, KEPT = 7 * LANES, 10 * LANES
TORQUE = SINE  # a joint's sine has served when its torque is known

# Places in a row of `arms`, which holds y and z of a joint's origin in the frame before.
ARM_Y, ARM_Z, ARMS = 0, LANES, 2 * LANES

# From one component of a vector to the next.
L, L2 = LANES, 2 * LANES
