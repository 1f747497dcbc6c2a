# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `franka-dynamics`, also started by `python -m franka_dynamics`."""

import sys

from .cli._interrupts import or_interrupted


def main() -> int:
    """Import and run the command line; Ctrl-C, also during the import, shows no traceback."""

    def run() -> int:
        from .cli.main import main as command

        return command()

    return or_interrupted(run)


if __name__ == '__main__':
    sys.exit(main())
