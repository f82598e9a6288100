"""Packages from PyPI that use python-crfsuite or sklearn-crfsuite: with the originals and with crfkit.

    make clients                                                  # installs them into .venv-clients first
    python tests/campaigns/clients.py --python .venv-clients/bin/python --count 2000 --only usaddress nltk

The clients are not edited. With a model of the client's own, labels must be the same and probabilities differ
by less than 1e-13 (those of whole labellings by less than 1e-13 per five labels). Where a client trains, both
tag with the model that the original has trained; the models that each has trained itself must agree in 99.5 %
of the labels, since the optimum is the same but the way there is not. The exit code is 1 if anything differs,
or fails with crfkit alone. A client that fails with the original too (because it needs a download, say) is
skipped, with its message.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORK = Path(__file__).with_name("client_work.py")
CLIENTS = (
    "dicts_without_a_client",
    "strings_without_a_client",
    "usaddress",
    "probablepeople",
    "parserator",
    "nltk",
    "hazm",
    "pythainlp_sentences",
    "pythainlp_syllables",
    "pythainlp_names",
    "ssg",
    "pyvi_words",
    "pyvi_tags",
    "autopager",
    "formasaurus",
    "spacy_crfsuite",
    "sklearn_crfsuite_and_eli5",
)
CLOSE = 1e-13
AGREEING = 0.995  # of the labels by models that each package has trained itself
_WIDTHS = (27, 8, 8, 10, 13, 9, 9, 10, 10)
_HEAD = ("client", "results", "differ", "numbers", "difference", "original", "crfkit", "training", "crfkit")


def run(python: str, name: str, count: int, folder: str, *options: str) -> tuple[dict[str, Any] | None, str]:
    """Return what a client found, or None and the last line of its error message.

    The client runs in the folder, since some write models to the folder that they are in.
    """
    command = [
        os.path.abspath(shutil.which(python) or python),
        "-W",
        "ignore",
        str(WORK),
        name,
        str(count),
        folder,
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, cwd=folder)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1]), ""
    return None, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def compare(original: dict[str, Any], ours: dict[str, Any]) -> tuple[list[str], bool]:
    """Return the cells of a row after the name, and whether all is well."""
    one, two = original["results"], ours["results"]
    differ = abs(len(one) - len(two)) + sum(a != b for a, b in zip(one, two, strict=False))
    pairs = list(zip(original["numbers"], ours["numbers"], strict=False))
    # The probability of a whole labelling is rounded once per label.
    furthest = max((abs(a - b) / max(1, n / 5) for (a, n), (b, _) in pairs), default=0.0)
    trained = list(zip(original["trained"], ours["trained"], strict=False))
    agreeing = sum(a == b for a, b in trained) / max(1, len(trained))
    well = (
        differ == 0
        and furthest < CLOSE
        and len(original["numbers"]) == len(ours["numbers"])
        and len(original["trained"]) == len(ours["trained"])
        and (not trained or agreeing >= AGREEING)
    )
    times = [original["seconds"], ours["seconds"]]
    times += [original["training"], ours["training"]] if trained else []
    cells = [str(len(one)), str(differ), str(len(pairs)), f"{furthest:.1e}", *(f"{t:.3f} s" for t in times)]
    return [*cells, *([f"({agreeing:.2%} of {len(trained)} labels agree)"] if trained else [])], well


def row(cells: list[str] | tuple[str, ...]) -> str:
    """Return one line of the table."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, (*_WIDTHS, 0), strict=False)).rstrip()


def main() -> int:
    """Run the clients one after the other; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="of the environment with the clients")
    parser.add_argument("--count", type=int, default=2000, help="addresses; other texts are a tenth of it")
    parser.add_argument("--only", nargs="+", choices=CLIENTS, default=CLIENTS)
    options = parser.parse_args()
    print(row(_HEAD))
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            original, words = run(options.python, name, options.count, folder)
            if original is None:
                print(row((name, f"skipped, it fails with the original too: {words}")))
                continue
            ours, words = run(options.python, name, options.count, folder, "--crfkit")
            if ours is None:
                bad += 1
                print(row((name, f"FAILS with crfkit: {words}")))
                continue
            cells, well = compare(original, ours)
            bad += not well
            print(row((name, *cells)) + ("" if well else "  DIFFERS"), flush=True)
    print(f"{bad} of {len(options.only)} clients differ" if bad else "nothing differs")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
