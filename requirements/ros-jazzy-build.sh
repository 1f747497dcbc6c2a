#!/bin/sh
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# ros-jazzy-build.sh FOLDER: lets cmake build messages with the ROS wheels in FOLDER, a Python
# environment. The wheels' files name the folders of Python and numpy where they were built.
set -eu
python=$1/bin/python
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
numpy=$("$python" -c 'import numpy; print(numpy.get_include())')
built='/opt/python/cp3[0-9]*-cp3[0-9]*'
find "$1/share" -name '*.cmake' -exec sed -i "s#$built/include/python3\.[0-9]*#$include#g
s#$built/lib/python3\.[0-9]*/site-packages/numpy/_core/include#$numpy#g" {} +
