# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `franka-dynamics`, also started by `python -m franka_dynamics`."""

import sys


def main() -> int:
    """Run the command line and return its exit status, 130 after Ctrl-C."""
    try:
        from .cli.main import main as command

        return command()
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
