# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `franka-dynamics`, which `python -m franka_dynamics` is too."""

import sys

from .cli._interrupts import or_interrupted


def main() -> int:
    """Import the command line, during which Ctrl-C may come already, and run it."""

    def run() -> int:
        from .cli.main import main as command

        return command()

    return or_interrupted(run)


if __name__ == '__main__':
    sys.exit(main())
