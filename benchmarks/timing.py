# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks share: options, the name of the machine, its load."""

import argparse
from pathlib import Path
import platform


def new_parser(text: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a benchmark's own text."""
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def machine() -> str:
    """Return processor and library versions in one line."""
    import numpy
    import pinocchio

    model = next(
        (
            line.split(':')[1].strip()
            for line in _lines('/proc/cpuinfo')
            if line.startswith('model name')
        ),
        platform.processor(),
    )
    return (
        f'{model}; Python {platform.python_version()}, numpy {numpy.__version__}, '
        f'pinocchio {pinocchio.__version__}'
    )


def busy_seconds() -> float:
    """Return the busy time of all cores together since the machine started [s] (Linux; else 0)."""
    import os

    first = next(iter(_lines('/proc/stat')), 'cpu 0 0 0 0 0')
    user, nice, system, *_ = (float(field) for field in first.split()[1:])
    return (user + nice + system) / os.sysconf('SC_CLK_TCK')


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).is_file() else []
