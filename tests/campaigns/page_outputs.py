"""The commands of docs/command-line.md on CoNLL-2000, the data of the page: do they print what it shows?

``make pages`` (about three minutes). Words must be the same, figures nearly (last digits depend on the
machine); times, which the page has from another machine, are not compared. The tests run the same commands on
small files (``tests/test_docs_commands.py``).
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from transcripts import NUMBER, commands_of, figures_agree, matches, run  # noqa: E402

PAGE = ROOT / "docs" / "command-line.md"
# Commands with other data than CoNLL-2000, or with times as their result.
OTHERS = ("readings.csv", "prices/", "names.crfkit", "--compare rest.txt", "awk ")
TIMES = re.compile(r"^crfkit: seconds.*\n|\bin [\d.]+ s\b", re.MULTILINE)


def data_folder() -> Path:
    named = os.environ.get("CRFKIT_DATA")
    return (Path(named) if named else ROOT.parent / "shared" / "data") / "conll2000"


def prepare(folder: Path) -> None:
    for name in ("train.txt", "test.txt"):
        shutil.copy(data_folder() / name, folder)
    template = (ROOT / "benchmarks" / "chunking.template").read_text(encoding="utf-8")
    (folder / "chunking.template").write_text(template, encoding="utf-8")
    (folder / "words.template").write_text(template + "B01:%x[0,0]\n", encoding="utf-8")


def without_times(text: str) -> str:
    return TIMES.sub("", text)


def main(argv: list[str] | None = None) -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--commands", type=int, help="only so many")
    given = arguments.parse_args(argv)
    if not data_folder().is_dir():
        print(f"there is no {data_folder()}: name the folder of corpora with CRFKIT_DATA")
        return 1
    differing = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        found = commands_of(PAGE.read_text(encoding="utf-8"))
        commands = [c for c in found if not any(other in c.text for other in OTHERS)][: given.commands]
        for command in commands:
            printed = without_times(run(command.text, folder))
            shown = None if command.shown is None else without_times(command.shown)
            same = shown is None or (
                matches(shown, printed, free=NUMBER) and ("…" in shown or figures_agree(shown, printed))
            )
            differing += not same
            word = "the same " if same else "DIFFERENT"
            print(f"{word}  {PAGE.name}:{command.line}  {command.text}", flush=True)
            if not same:
                print(f"the page shows\n{shown}\nbut there is\n{printed}")
    print(f"{differing} of {len(commands)} commands differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
