"""``crfkit train --blocks DIR``: the data is encoded once, in a directory, and trained on from there."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crfkit.cli.data_file import open_data
from crfkit.cli.messages import UsageError, note
from crfkit.cli.options import verbosity
from crfkit.cli.train_data import Data, Default, Maker, label_of, table_record, window_template
from crfkit.exceptions import ModelFileError

if TYPE_CHECKING:
    from crfkit.models.blocks import Blocks
    from crfkit.models.linear.crf import CRF

# Options that decide what the blocks hold.
_DECIDING = (
    *("format", "separator", "label_column", "sequence_column", "no_header", "snap", "unknown", "min_freq"),
)


def check_blocks(arguments: argparse.Namespace) -> None:
    """Raise an error if other options contradict ``--blocks``."""
    if arguments.blocks is None:
        return
    if "-" in arguments.data:
        raise UsageError("--blocks needs files, not standard input: it looks whether they have changed")
    if arguments.group_column is not None:
        raise UsageError("--blocks has no groups: leave out --group-column")
    if arguments.continued is not None:
        raise UsageError("--blocks and --continue cannot be combined: --start MODEL starts from a model")


def read_blocks(
    paths: Sequence[str],
    arguments: argparse.Namespace,
    maker: Maker | None,
    crf: CRF,
    default: Default | None,
) -> tuple[Data, Maker | None]:
    """Return the data in blocks, which are written first if they are missing or out of date."""
    from crfkit.features.template import Template
    from crfkit.models.block_sources import Files, PieceEncoder
    from crfkit.models.blocks import write_blocks
    from crfkit.progress import Progress

    def describe(file: Any, table: Any) -> tuple[int, dict[str, Any]]:
        label = label_of(file, table, arguments)
        return label, table_record(file, table, label, table)

    source = Files(
        paths,
        lambda path: open_data(path, arguments, tables=maker is not None),
        describe,
        unknown=arguments.unknown,
    )
    settings = {name: getattr(arguments, name) for name in _DECIDING} | {"maker": _written(maker)}
    blocks = _up_to_date(arguments, source.inputs, settings, maker)
    if blocks is None:
        if maker is None:
            maker = _default(paths[0], arguments, default or window_template)
        made = {"template" if isinstance(maker, Template) else "extractor": maker}
        encode = PieceEncoder(made.get("template"), made.get("extractor"), arguments.jobs)
        progress = Progress(verbosity(arguments) and "auto", name="blocks")
        blocks = write_blocks(
            arguments.blocks,
            source,
            encode,
            min_freq=arguments.min_freq,
            settings=settings,
            watch=lambda n: progress.say(f"{n:,} tokens are encoded"),
        )
        progress.end("")
        if not arguments.quiet:
            note(f"{arguments.blocks}: blocks written, {blocks.n_bytes / 1e6:,.1f} MB")
    maker = blocks.encoder.template or blocks.encoder.extraction
    return Data(blocks, None, None, blocks.header.get("record")), maker


def _up_to_date(
    arguments: argparse.Namespace, inputs: list[Any], settings: dict[str, Any], maker: Maker | None
) -> Blocks | None:
    """Return the blocks that are there, if they were written from the same files in the same way."""
    from crfkit.models.blocks import Blocks

    if not os.path.lexists(arguments.blocks):
        return None
    try:
        found = Blocks.open(arguments.blocks, extractor=maker if _in_python(maker) else None)
    except ModelFileError as error:
        if not arguments.quiet and os.path.isdir(arguments.blocks) and os.listdir(arguments.blocks):
            note(f"{error}: the blocks are written again")
        return None
    if [found.header["inputs"], found.header["settings"]] == [inputs, settings]:
        if not arguments.quiet:
            sequences = found.sequences
            note(
                f"{arguments.blocks}: blocks of {sequences.n_sequences:,} sequences, "
                f"{sequences.n_positions:,} tokens, up to date"
            )
        return found
    if not arguments.quiet:
        what = "the data has" if found.header["inputs"] != inputs else "options have"
        note(f"{arguments.blocks}: {what} changed since the blocks were written: they are written again")
    return None


def _default(path: str, arguments: argparse.Namespace, default: Default) -> Maker | None:
    """Return what makes attributes of the columns of a file; None if it has attributes already."""
    from crfkit.cli.column_roles import Roles, label_place
    from crfkit.models.block_sources import POSITIONS

    with open_data(path, arguments) as file:
        if not file.format.is_table:
            return None
        for table in file.tables(POSITIONS):
            if table.n_positions:
                label = label_place(table, arguments.label_column)
                return default(Roles(label).for_template(table), arguments)
    return None


def _written(maker: Maker | None) -> Any:
    """Return what makes attributes, in JSON values; None: the default."""
    from crfkit.features.template import Template

    return maker.to_record() if isinstance(maker, Template) else None if maker is None else repr(maker)


def _in_python(maker: Maker | None) -> bool:
    return bool(getattr(maker, "in_python", ()))
