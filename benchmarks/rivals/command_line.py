"""Column file and template to saved model, and test file to labels: whole commands, side by side.

    python benchmarks/rivals/command_line.py                       # about four minutes, nearly all CRFsuite's
    python benchmarks/rivals/command_line.py --wapiti ~/bin/wapiti # with a Wapiti you have built, five more
    python benchmarks/rivals/command_line.py --quick               # a few iterations: does it run?

Each is a process of its own, from start to exit: start-up, reading, features, training or decoding, writing.
python-crfsuite has no command for columns and templates; crfsuite_tool.py is the script that its users write.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tables import provenance, publish, ratio, seconds, table
from tasks import data_directory

from crfkit.io import read_columns
from crfkit.metrics import segment_f1

BENCHMARKS = Path(__file__).resolve().parents[1]
TEMPLATE = BENCHMARKS / "chunking.template"
C2 = 0.05


@dataclass(frozen=True)
class Tool:
    """How to train and how to tag with it."""

    name: str
    train: Sequence[str | Path]
    tag: Sequence[str | Path]


@dataclass
class Run:
    """What a process took."""

    seconds: float
    megabytes: float  # peak


def measured(command: Sequence[str | Path], output: Path) -> Run:
    """Run a command, its standard output to a file."""
    began = time.perf_counter()
    with output.open("wb") as out, output.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{output.with_suffix('.log').read_text()}")
    return Run(took, usage.ru_maxrss / 1024)


def tools(data: Path, folder: Path, wapiti: Path | None, quick: bool) -> list[Tool]:
    """crfkit first."""
    learn, test = data / "train.txt", data / "test.txt"
    few = ["--max-iterations", "5"] if quick else []
    script = [sys.executable, BENCHMARKS / "crfsuite_tool.py"]
    crfkit = [sys.executable, "-m", "crfkit"]
    found = [
        Tool(
            "crfkit",
            [*crfkit, "train", learn, "-t", TEMPLATE, "-m", folder / "crfkit", "--c2", str(C2), *few],
            [*crfkit, "tag", folder / "crfkit", test],
        ),
        Tool(
            "python-crfsuite",
            [*script, "train", learn, folder / "crfsuite", "--c2", str(C2), *few],
            [*script, "tag", folder / "crfsuite", test],
        ),
    ]
    if wapiti:
        settings = {"sgd-l1": [], "l-bfgs": ["-t", "2", "-1", "0", "-2", str(2 * C2)]}  # ρ2/2·‖w‖²
        for algorithm, more in settings.items():
            model = folder / algorithm
            few = ["-i", "5"] if quick else []
            found.append(
                Tool(
                    f"Wapiti {algorithm}",
                    [wapiti, "train", "-a", algorithm, *more, *few, "-p", TEMPLATE, learn, model],
                    [wapiti, "label", "-m", model, test],
                )
            )
    return found


def f1(path: Path) -> float:
    """Segment F1 of a tagged file: the last two columns."""
    tagged = read_columns(path)
    return segment_f1(tagged.column(-2), tagged.column(-1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wapiti", type=Path, help="the wapiti program, to be measured as well")
    parser.add_argument("--rounds", type=int, default=7, help="how often each tags; the median counts")
    parser.add_argument("--quick", action="store_true", help="few iterations")
    parser.add_argument("--markdown", type=Path, help="write the report to this file as well")
    options = parser.parse_args()

    data = data_directory("conll2000")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = tools(data, folder, options.wapiti, options.quick)
        trained = [measured(tool.train, folder / "out") for tool in found]
        outputs = [folder / f"tagged{i}" for i in range(len(found))]
        rounds = [
            [measured(tool.tag, output) for tool, output in zip(found, outputs, strict=True)]
            for _ in range(1 if options.quick else options.rounds)
        ]
        scores = [f1(output) for output in outputs]
    tagged = [
        Run(statistics.median(run.seconds for run in runs), max(run.megabytes for run in runs))
        for runs in zip(*rounds, strict=True)
    ]
    rows = [
        [
            tool.name,
            seconds(train.seconds),
            ratio(trained[0].seconds, train.seconds),
            f"{train.megabytes:.0f} MB",
            seconds(tag.seconds),
            ratio(tagged[0].seconds, tag.seconds),
            f"{tag.megabytes:.0f} MB",
            f"{100 * score:.2f}",
        ]
        for tool, train, tag, score in zip(found, trained, tagged, scores, strict=True)
    ]
    header = ["tool", "train", "ratio", "peak", "tag", "ratio", "peak", "F1"]
    report = f"CoNLL-2000, 19 templates, c2 = {C2:g}: column file to model, test file to labels.\n\n"
    publish(
        report + table(header, rows) + "\n\n" + provenance("benchmarks/rivals/command_line.py"),
        options.markdown,
    )


if __name__ == "__main__":
    main()
