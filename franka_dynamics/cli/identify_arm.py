# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics identify arm`, which writes an arm file from recordings."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ._choices import ArmChoice, BagReader, Options, require_installed
from ._console import print_rich, ProgressBar, say, say_each, write_json
from ..arm import ArmDescription
from ..errors import ClusterError, name_list, require_extra
from ..files import write_text
from ..identification.identify import identify
from ..identification.options import IdentificationOptions
from ..identification.results import Identification, IDENTIFIED_SET_NAME
from ..identification.summary import Bag, labels_of
from ..names import AS_LISTED
from ..recordings.preprocessing import Motion
from ..report import identification as pages
from ..report.replay import TORQUE_ERROR_DEFINITION

_DASK_TIMEOUT_S = 20.0


def run(arm: ArmChoice, reader: BagReader, fit: IdentificationOptions, options: Options) -> int:
    """Identify the arm, print and write the results; return 1 if the arm is not accepted."""
    needed = 'rosbags', 'scipy', 'clarabel', *(['matplotlib'] if options.report else [])
    require_installed(f'Identifying an arm needs {name_list(needed)}', 'identify', *needed)
    arm = reader.arm_in_bag(options.bags[0], arm)
    start = arm.load()
    names = reader.joint_names_in_bag(start)
    fitted, left_out = (
        [Bag(path, names, reader.topic, reader.stamps) for path in paths]
        for paths in (options.bags, options.tests)
    )
    with ProgressBar() as bar, _executor_of_workers(options.workers) as executor:
        published, progress = _published_arms(arm, start), bar.new_task('identifying')
        result = identify(
            fitted, start, published, fit, tests=left_out, executor=executor, progress=progress
        )
    # Files are written before results are printed, because `| head` can end this program.
    if options.output and result.accepted:
        result.save(options.output, payload=arm.read_payload())
    if options.report:
        page = pages.identification_page(result, _used_motions(result, [*fitted, *left_out]))
        write_text(options.report, page)
    if options.json:
        write_json(options.json, pages.identification_as_data(result))
    say(pages.conclusion_sentence(result), style='bold')
    say_each(pages.detail_sentences(result), 'warning')
    print_rich(*pages.identification_tables(result))
    say(TORQUE_ERROR_DEFINITION)
    page_line = options.report and f'page: {options.report}'
    say_each(filter(None, [pages.tracking_sentence(result), page_line]))
    if not result.accepted:
        say(_refusal_sentence(result), style='red')
        return 1
    say(_arm_file_sentence(options.output, len(result.recordings.names)))
    return 0


def _published_arms(arm: ArmChoice, start: ArmDescription) -> list[ArmDescription]:
    """Return the published sets to compare with, those with the arm's own hand first."""
    hand = start.hand if arm.hand == AS_LISTED else arm.hand
    own = arm.load_sets_and_hands(hands=(hand,))
    return [*own, *(other for other in arm.load_sets_and_hands() if other.hand != start.hand)]


def _used_motions(result: Identification, bags: Sequence[Bag]) -> Iterator[tuple[str, Motion]]:
    """Yield name and motion of each bag that the identification used."""
    scale = result.options.effort_scales(result.estimate.model.n)
    for name, bag in zip(labels_of(bags), bags, strict=True):
        if name in result.recordings.names:
            yield name, bag.motion(scale)


def _arm_file_sentence(output: Path | None, count: int) -> str:
    """Return a sentence on where the arm file is, and how many bags it was fitted to."""
    if output is None:
        return 'no arm file was written: name one with --output'
    what = f'all {count} bags' if count > 1 else 'all of the bag'
    return f'arm file: {output} (set {IDENTIFIED_SET_NAME}, fitted to {what})'


def _refusal_sentence(result: Identification) -> str:
    """Return why the identified arm is not accepted."""
    if not result.verdict.sound:
        why = 'the recordings are not sound; --anyway accepts them'
    else:
        why = 'it is not better than the published sets; --anyway writes it nevertheless'
    return f'No arm file was written: {why}.'


@contextmanager
def _executor_of_workers(workers: str) -> Iterator[Executor | None]:
    """Yield an executor of so many processes or of a Dask cluster, or None for one process."""
    if workers.isdigit():
        with ProcessPoolExecutor(int(workers)) if int(workers) > 1 else nullcontext() as pool:
            yield pool
        return
    with require_extra('Identifying on a cluster needs dask', 'cluster'):
        from distributed import Client
    try:
        client = Client(workers, timeout=_DASK_TIMEOUT_S)
    except (OSError, ValueError) as error:
        fix = 'start one with `dask scheduler`, or fix the address'
        raise ClusterError(f'No Dask scheduler answers at {workers} ({error}); {fix}.') from error
    with client:
        yield client.get_executor(pure=False)
