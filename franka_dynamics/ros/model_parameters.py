# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters that say where the model comes from."""

from __future__ import annotations

from .parameters import ParameterSpec

DESCRIPTION, URDF_FILE, ROBOT_DESCRIPTION = 'description', 'urdf_file', 'robot_description'

MODEL_PARAMETERS = (
    ParameterSpec('model_source', 'string', DESCRIPTION, 'Where the model comes from: the arm '
                  'file, a URDF file, or the robot_description topic. A URDF is itself held '
                  'against the DH-derived description first.', read_only=True,
                  choices=(DESCRIPTION, URDF_FILE, ROBOT_DESCRIPTION)),
    ParameterSpec('urdf_file', 'string', '', 'Path of the URDF for model_source urdf_file.',
                  read_only=True),
    ParameterSpec('robot_description_timeout', 'double', 30.0, 'How long configure waits for '
                  'robot_description.', read_only=True, minimum=0.1, maximum=3600.0, unit='s'),
    ParameterSpec('accept_unknown_inertials', 'bool', False, 'Accept a URDF whose inertials are '
                  'physical, but those of no published set.', read_only=True),
)
