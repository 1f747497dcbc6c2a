# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command line `franka-dynamics`; most of its actions have a file of their own."""

import os

# Threads of OpenBLAS wait for each other in busy loops. On a busy machine with two processors
# `identify arm` takes 42 s with two threads of OpenBLAS and 3.6 s with one. OpenBLAS reads
# OPENBLAS_NUM_THREADS when numpy is imported, which happens after this line.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
