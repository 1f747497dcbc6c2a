# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics identify arm`, which writes an arm file from recordings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from .choices import ArmChoice, BagReader, require_installed, was_option_given
from .console import echo, echo_each, print_rich, ProgressBar, write_json
from ..arm import ArmDescription
from ..arm.arm_file import is_urdf_or_mjcf, read_arm_file
from ..constants import AS_LISTED
from ..errors import list_text
from ..files import write_text
from ..fit.options import IdentificationOptions
from ..fit.sources import labels_of
from ..identification.arm_text import prior_sentence
from ..identification.identification_record import IDENTIFIED_SET_NAME
from ..identification.identify import identify
from ..identification.results import Identification
from ..recordings.data_set import is_data_set
from ..recordings.episodes import Episode
from ..recordings.preprocessing import Motion, to_motion
from ..report import identification as pages
from ..report.replay import TORQUE_ERROR_DEFINITION
from ..workers import workers_of

# Options that answer questions about recordings: what they say counts.
_ANSWERING_OPTIONS = 'effort_scale', 'gravity', 'hand', 'payload'


def identify_arm(
    choice: ArmChoice,
    reader: BagReader,
    fit: IdentificationOptions,
    bags: Sequence[str],
    tests: Sequence[str],
    output: Path | None,
    report: Path | None,
    json: Path | None,
    worker_text: str,
) -> int:
    """Identify the arm, print and write the results; return 1 if no arm is accepted."""
    needed = ['rosbags', 'scipy', 'clarabel']
    if report:
        needed.append('matplotlib')
    require_installed(f'Identifying an arm needs {list_text(needed)}', 'identify', *needed)
    if is_urdf_or_mjcf(choice.arm):
        read_arm_file(choice.arm)  # raises an error that says how to import it
    choice = reader.arm_in(bags[0], choice)
    fit = replace(fit, answers=tuple(filter(was_option_given, _ANSWERING_OPTIONS)))
    start_arm = choice.load()
    episodes = [one for path in bags for one in reader.episodes(path, start_arm)]
    test_episodes = [one for path in tests for one in reader.episodes(path, start_arm)]
    with ProgressBar() as bar, workers_of(worker_text) as workers:
        published = _published_arms(choice, start_arm)
        result = identify(
            episodes,
            start_arm,
            published,
            fit,
            tests=test_episodes,
            skip_failures=any(map(is_data_set, [*bags, *tests])),
            executor=workers.executor if workers else None,
            progress=bar.new_task('identifying'),
        )
        loss = workers.loss_text() if workers else ''
    if loss:
        echo(loss, 'note')
    is_accepted = result.accepted_arm is not None
    if output and is_accepted:
        result.save(output, payload=choice.read_payload())
    if report:
        page = pages.identification_page(
            result, _used_motions(result, [*episodes, *test_episodes])
        )
        write_text(report, page)
    if json:
        write_json(json, pages.identification_as_data(result))
    _print_result(result, report)
    if not is_accepted:
        echo(_refusal_sentence(result), style='red')
        return 1
    echo(_arm_file_sentence(output, result))
    return 0


def _print_result(result: Identification, page: Path | None) -> None:
    """Print what was identified, how well it predicts, and what is doubtful."""
    echo(pages.conclusion_text(result), style='bold')
    echo_each(pages.detail_sentences(result), 'warning')
    print_rich(*pages.identification_tables(result))
    echo(TORQUE_ERROR_DEFINITION)
    sentence = prior_sentence(result)
    echo(f'{sentence[0].upper()}{sentence[1:]}.')
    page_line = f'page: {page}'
    if not page:
        page_line = 'What the recordings leave open: a page by --report, or --json'
    echo_each(filter(None, [pages.tracking_error_sentence(result), page_line]))


def _published_arms(choice: ArmChoice, start_arm: ArmDescription) -> list[ArmDescription]:
    """Return the published sets to compare with, those with the arm's own hand first."""
    own_hand = start_arm.hand if choice.hand == AS_LISTED else choice.hand
    with_own_hand = choice.load_sets_and_hands(hands=(own_hand,))
    all_arms = choice.load_sets_and_hands()
    return [*with_own_hand, *(arm for arm in all_arms if arm.hand != start_arm.hand)]


def _used_motions(result: Identification, bags: Sequence[Episode]) -> Iterator[tuple[str, Motion]]:
    """Yield name and motion of each bag that the identification used."""
    for name, bag in zip(labels_of(bags), bags, strict=True):
        if name in result.recordings.names:
            whole = result.options.with_whole_effort(bag.recording(), result.start)
            yield name, to_motion(whole, bag.signal)


def _arm_file_sentence(output_path: Path | None, result: Identification) -> str:
    """Return text on where the arm file is and on how many bags it rests, or that none is."""
    if output_path is None:
        return 'no arm file was written: name one with --output'
    bag_count = len(result.recordings.names)
    what = f'all {bag_count} bags' if bag_count > 1 else 'all of the bag'
    if result.keeps_published_inertias:
        kept = f'inertias of {result.published_fit.arm.inertial_set}, friction'
        return f'arm file: {output_path} ({kept} fitted to {what})'
    return f'arm file: {output_path} (set {IDENTIFIED_SET_NAME}, fitted to {what})'


def _refusal_sentence(result: Identification) -> str:
    """Return why the identified arm is not accepted."""
    why = 'nothing in it is better than the published sets; --anyway writes it nevertheless'
    if not result.verdict.sound:
        why = 'the recordings are not sound; --anyway accepts them'
    elif result.open_questions:
        options = sorted({f'--{name.replace("_", "-")}' for name in result.open_questions if name})
        by_option = f'answer by {" and ".join(options)}, or ' if options else ''
        why = f'the recordings are sound, with a question; {by_option}--anyway accepts them'
    return f'No arm file was written: {why}.'
