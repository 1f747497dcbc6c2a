# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The command line `franka-dynamics`.

The life of a command:

1. A function without a body in `declarations/` declares it. Its decorators add the options (some
   are shared, in `options.py`, with types of `option_types.py`), its docstring is the help.
2. click parses the typed words. `command.Command` also takes NAME:=VALUE.
3. Each option becomes an attribute of one argument `options`, named as its first flag or as its
   `dest`. `options_as` gathers some options in a dataclass instead, such as `choices.ArmChoice`.
4. Only then the module that does the work is imported, such as `bag_replay.py` for `bag replay`,
   so that help and completion are quick.
5. Its function first refuses options that mean nothing together (`forbid_options`,
   `forbid_without`), then computes, writes files, and prints by `console.py`.
6. The number that it returns is the exit status; None means 0. An error of this package becomes
   one sentence and a status in `main.py`.
"""

import os

# Threads of OpenBLAS wait for each other in busy loops. On a busy machine with two processors
# `identify arm` takes 42 s with two threads of OpenBLAS and 3.6 s with one. OpenBLAS reads
# OPENBLAS_NUM_THREADS when numpy is imported, which happens after this line.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
