# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The command line `franka-dynamics`.

The life of a command:

1. It is a typed function in `commands/`: its parameters are the options, its docstring is the
   help. Some parameters are dataclasses, whose fields are options, such as `choices.ArmChoice` and
   those of `requests.py`. Options of several commands stand in `options.py`, types of their words
   in `option_types.py`.
2. click parses the words by the parameters that `command.py` makes of the function's, and takes
   NAME:=VALUE as well.
3. The function imports what does its work, such as `bag_replay.py` for `bag replay`, only when it
   is called, so that help and completion are quick.
4. That first refuses options that mean nothing together (`forbid_options`, `forbid_without`), then
   computes, writes files, and prints by `console.py`.
5. The number that the function returns is the exit status; None means 0. An error of this package
   becomes one sentence and a status in `main.py`.
"""

import os

# Threads of OpenBLAS wait for each other in busy loops. On a busy machine with two processors
# `identify arm` takes 42 s with two threads of OpenBLAS and 3.6 s with one. OpenBLAS reads
# OPENBLAS_NUM_THREADS when numpy is imported, which happens after this line.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
