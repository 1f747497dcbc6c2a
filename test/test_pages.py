# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links of the pages lead to existing files, and the pages' commands are parsed."""

from pathlib import Path
import re
import shlex

import pytest

from franka_dynamics.cli.main import build_parser

ROOT = Path(__file__).parents[1]
DOCS = ROOT / 'docs'
PAGES = sorted(
    path
    for path in DOCS.rglob('*.md')
    if not {'_build', 'generated'} & set(path.relative_to(DOCS).parts)
)
LINK = re.compile(r'\]\(([^)\s]+)\)')


def links(page):
    """Return the files of the repository that a page links to, with the anchors."""
    found = (
        link.partition('#')
        for link in LINK.findall(page.read_text('utf-8'))
        if not re.match(r'[a-z]+:', link)
    )
    return [
        ((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in found
    ]


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST name them."""
    return {
        re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-')
        for heading in re.findall(r'^#+ (.*)', page.read_text('utf-8'), re.M)
    }


each_page = pytest.mark.parametrize(
    'page', [ROOT / 'README.md', *PAGES], ids=lambda page: page.relative_to(ROOT).as_posix()
)


@each_page
def test_a_page_names_what_exists(page):
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f'{target}#{anchor}'
    for path in re.findall(
        r'\b(?:test|benchmarks|examples)/\w+[\w/]*\.py\b', page.read_text('utf-8')
    ):
        assert (ROOT / path).is_file(), path


@each_page
def test_a_pages_commands_are_taken(page):
    text = page.read_text('utf-8').replace('\\\n', ' ')
    for command in re.findall(r'(?m)(?:^ *|`)(franka-dynamics [^`\n]+)', text):
        words = shlex.split(command.replace('...', ''), comments=True)[1:]
        words = [word for word in words if word != '&']
        # Refused, a command raises a SettingsError; one that asks for help ends.
        if '--help' not in words:
            build_parser(words).parse_args(words)


def test_images_lie_in_one_folder_and_are_all_shown():
    images = {path.resolve() for path in (DOCS / 'images').iterdir()}
    shown = {
        target
        for page in (ROOT / 'README.md', *PAGES)
        for target, _ in links(page)
        if target.suffix in ('.png', '.svg', '.jpg', '.gif')
    }
    # The generated page of examples shows each with its picture.
    examples = {path.stem[3:] for path in (ROOT / 'examples').glob('*.py')}
    shown |= {image for image in images if image.stem in examples}
    assert images == shown
