# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m franka_dynamics` is the command `franka-dynamics`."""

import sys

from .cli.main import main

if __name__ == '__main__':
    sys.exit(main())
