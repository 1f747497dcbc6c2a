# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Lists what a maintainer still has to fill in before a release: make release-check.

PLACEHOLDERS has each of them. Anything else that looks like one, and versions that differ, are
errors: exit status 1. With --tag the version is compared with that tag, too.
"""

import argparse
from pathlib import Path
import re
import subprocess
import sys
from typing import NamedTuple
from xml.etree import ElementTree

import yaml

ROOT = Path(__file__).parents[1]
VERSION_PATTERN = re.compile(r"^__version__ = '([^']+)'", re.MULTILINE)
PACKAGE_FILES = ('package.xml', 'cpp/package.xml', 'examples/cpp_controller/package.xml')
CHANGELOGS = ('CHANGELOG.rst',)
# What a placeholder looks like: names that RFC 2606 reserves, and words of authors for later.
SUSPECTS = re.compile(
    r'\.invalid\b|\bexample\.(?:com|org|net)\b|\b(?:TODO|FIXME|XXX|TBD)\b', re.IGNORECASE
)
THIS_FILE = Path(__file__).relative_to(ROOT).as_posix()


class Placeholder(NamedTuple):
    """Words that stand for what only a maintainer knows, the files that have them, and a fix."""

    words: str
    files: tuple[str, ...]
    fix: str


PLACEHOLDERS = (
    Placeholder(
        'maintainers@franka-dynamics.invalid',
        (*PACKAGE_FILES, 'setup.py'),
        "the maintainers' address",
    ),
    Placeholder(
        'https://franka-dynamics.invalid/franka_dynamics',
        ('package.xml',),
        "the repository's address; setup.py and the pages take it from there",
    ),
    Placeholder(
        'The franka_dynamics authors',
        ('CITATION.cff',),
        'names of the authors as they are to be cited',
    ),
    Placeholder('Forthcoming', CHANGELOGS, 'the version and the date of the release'),
)


def tracked_files() -> list[str]:
    """Return the paths of all files under version control, relative to the repository."""
    listed = subprocess.run(
        ['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for path in listed.stdout.split('\0') if path]


def text_of(path: str) -> str:
    """Return a file's text, '' for one that is no text."""
    try:
        return (ROOT / path).read_text('utf-8')
    except UnicodeDecodeError:
        return ''


def suspects(path: str) -> list[str]:
    """Return the lines of a file that look like placeholders but stand in no row of the table."""
    known = [one.words for one in PLACEHOLDERS if path in one.files]
    found = []
    for number, line in enumerate(text_of(path).splitlines(), 1):
        rest = line
        for words in known:
            rest = rest.replace(words, '')
        if SUSPECTS.search(rest):
            found.append(f'{path}:{number}: {line.strip()[:120]}')
    return found


def differing_versions(version: str) -> list[str]:
    """Return sentences on files whose version is not that of the package."""
    # ROS's versions are three numbers, without the name of a candidate (REP 149).
    release = re.match(r'\d+\.\d+\.\d+', version)
    of_ros = release[0] if release else version
    found = {name: ElementTree.parse(ROOT / name).findtext('version') for name in PACKAGE_FILES}
    expected = dict.fromkeys(PACKAGE_FILES, of_ros)
    found['CITATION.cff'] = str(yaml.safe_load(text_of('CITATION.cff'))['version'])
    expected['CITATION.cff'] = version
    return [
        f'{name} has the version {value}, expected {expected[name]}'
        for name, value in found.items()
        if value != expected[name]
    ]


def main() -> int:
    """Print placeholders and errors; return 1 if there is an error."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').strip().partition('\n')[0])
    parser.add_argument('--tag', help='the tag of the release, which is its bare version')
    given = parser.parse_args()
    match = VERSION_PATTERN.search(text_of('franka_dynamics/__init__.py'))
    version = match[1] if match else ''
    errors = differing_versions(version)
    if given.tag and given.tag != version:
        errors.append(f'the tag is {given.tag}, and the version {version}')
    print(f'franka_dynamics {version}. A maintainer fills in:')
    for one in PLACEHOLDERS:
        places = [path for path in one.files if one.words in text_of(path)]
        if places:
            print(f'  {one.words} in {", ".join(places)}: {one.fix}')
    for path in tracked_files():
        if path != THIS_FILE and not path.startswith('test/'):
            errors.extend(suspects(path))
    for sentence in errors:
        print(f'error: {sentence}', file=sys.stderr)
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
