"""One short sequence per call, as programs that are deployed tag: against python-crfsuite and fastaddress.

    python benchmarks/rivals/one_by_one.py --usaddress FOLDER            # about a minute
    python benchmarks/rivals/one_by_one.py --usaddress FOLDER --quick    # does it run?

FOLDER holds the unpacked wheels of usaddress, probableparsing and fastaddress from PyPI (`pip download
--no-deps usaddress probableparsing fastaddress`). Times are of alternating rounds in one process: only the
ratios count. Start-up and memory are of alternating processes.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from address_parser import usaddress_features
from tables import provenance, publish, table

from crfkit import CRF, Tagger
from crfkit.compat import pycrfsuite as ours

ADDRESSES = (
    "1600 Pennsylvania Ave. NW Apt 4B, Washington, DC",
    "350 Fifth Avenue Suite 3304 New York NY 10118",
    "PO Box 1234 Springfield IL 62704 USA North",
    "742 Evergreen Terrace Unit 7 Portland OR 97205",
)


def microseconds(call: Callable[[], Any], n: int) -> float:
    """Return the time of one call."""
    began = time.perf_counter()
    for _ in range(n):
        call()
    return (time.perf_counter() - began) / n * 1e6


def side_by_side(mine: Callable[[], Any], theirs: Callable[[], Any], rounds: int, n: int) -> list[str]:
    """Return the medians of alternating rounds, and of the ratios of neighbouring rounds."""
    pairs = [(microseconds(mine, n), microseconds(theirs, n)) for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in pairs)
    return [*(f"{statistics.median(times):.2f} µs" for times in zip(*pairs, strict=True)), f"{ratio:.2f}×"]


def process(code: str) -> tuple[float, float]:
    """Run Python code in a new process; return its milliseconds and its peak memory in MB."""
    report = "\nprint(*[line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line])"
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return (time.perf_counter() - began) * 1e3, float(done.stdout.split()[-1]) / 1024


def processes(mine: str, theirs: str, rounds: int) -> tuple[list[str], list[str]]:
    """Return a row of times without those of an empty program, and one of memory."""
    runs = [(process("pass"), process(mine), process(theirs)) for _ in range(rounds)]
    empty, our_time, their_time = (statistics.median(run[k][0] for run in runs) for k in range(3))
    our_memory, their_memory = (statistics.median(run[k][1] for run in runs) for k in (1, 2))
    ratio = (their_time - empty) / max(our_time - empty, 0.01)
    return (
        [f"{our_time - empty:.1f} ms", f"{their_time - empty:.1f} ms", f"{ratio:.2f}×"],
        [f"{our_memory:.1f} MB", f"{their_memory:.1f} MB", f"{their_memory / our_memory:.2f}×"],
    )


def wrong_answers(tagger: Any, inputs: list[Any], n_calls: int, n_threads: int = 16) -> int:
    """Let threads share a tagger at a switch interval of 1 µs; return how many answers are wrong."""
    expected = [tagger.tag(x) for x in inputs]
    wrong = [0] * n_threads

    def work(k: int) -> None:
        for i in range(n_calls // n_threads):
            j = (i * 7 + k) % len(inputs)
            wrong[k] += tagger.tag(inputs[j]) != expected[j]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)
    return sum(wrong)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--usaddress", type=Path, help="folder of the unpacked wheels")
    parser.add_argument("--quick", action="store_true", help="few rounds: does it run?")
    parser.add_argument("--output", type=Path, help="write the table to this file too")
    arguments = parser.parse_args(argv)
    if arguments.usaddress is None:
        print("one_by_one.py needs --usaddress: see its first lines")
        return 0
    sys.path.insert(0, str(arguments.usaddress))
    import fastaddress
    import pycrfsuite
    import usaddress

    path = str(arguments.usaddress / "usaddress" / "usaddr.crfsuite")
    rounds, n = (3, 50) if arguments.quick else (41, 400)
    mine, theirs = ours.Tagger(), pycrfsuite.Tagger()
    mine.open(path)
    theirs.open(path)
    tokens = [usaddress.tokenize(address)[:8] for address in ADDRESSES]
    items = [usaddress.tokens2features(sentence) for sentence in tokens]
    if any(mine.tag(x) != theirs.tag(x) for x in items):
        sys.exit("the labels differ")
    rows = []

    x = items[0]
    what = f"`tag()` of {len(x)} tokens as dicts"
    rows.append([what, *side_by_side(lambda: mine.tag(x), lambda: theirs.tag(x), rounds, n)])
    for length in (1, 8, 21):
        names = [list(item)[:7] for item in ours.ItemSequence((x * 3)[:length]).items()]
        found = side_by_side(
            lambda names=names: mine.tag(names), lambda names=names: theirs.tag(names), rounds, n
        )
        rows.append([f"lists of 7 strings, {length} tokens", *found])
    one, other = ours.ItemSequence(x), pycrfsuite.ItemSequence(x)
    rows.append(
        ["an ItemSequence", *side_by_side(lambda: mine.tag(one), lambda: theirs.tag(other), rounds, n)]
    )
    found = side_by_side(lambda: ours.ItemSequence(x), lambda: pycrfsuite.ItemSequence(x), rounds, n)
    rows.append(["making one", *found])

    with tempfile.TemporaryDirectory() as folder:
        features = usaddress_features(usaddress.DIRECTIONS, usaddress.STREET_NAMES)
        crf = CRF.load(path, extractor=features)
        crf.save(Path(folder) / "usaddr.crfkit")
        tagger = Tagger(Path(folder) / "usaddr.crfkit")
        same = sum(tagger.tag_tokens(t) == mine.tag(x) for t, x in zip(tokens, items, strict=True))
        print(f"tag_tokens gives usaddress' labels for {same} of {len(tokens)} addresses", file=sys.stderr)
        k = 0

        def our_parse() -> Any:
            nonlocal k
            k += 1
            return tagger.tag_tokens(tokens[k % len(tokens)])

        def their_parse() -> Any:
            nonlocal k
            k += 1
            return fastaddress.parse(ADDRESSES[k % len(ADDRESSES)])

        rows.append(
            [
                "`tag_tokens`, against fastaddress.parse(text)",
                *side_by_side(our_parse, their_parse, rounds, n),
            ]
        )

        few = 2 if arguments.quick else 15
        tags = "tag([['address.start', 'address.end']])"
        opens = f"import pycrfsuite\nt = pycrfsuite.Tagger()\nt.open({path!r})\nt.{tags}"
        timing, memory = processes(f"from crfkit import Tagger\nTagger({path!r}).{tags}", opens, few)
        rows.append(["start to first label, `crfkit.Tagger`", *timing])
        rows.append(["memory of such a process", *memory])
        timing, _ = processes(f"from crfkit.compat {opens}", opens, few)
        rows.append(["start to first label, shim", *timing])
    n_calls = 10_000 if arguments.quick else 1_000_000
    wrong = wrong_answers(mine, items, n_calls)
    rows.append([f"wrong of {n_calls:,} calls, 16 threads", str(wrong), "", ""])
    text = table(["usaddress' model", "crfkit", "the other", "crfkit is faster by"], rows)
    publish(f"{text}\n\n{provenance('benchmarks/rivals/one_by_one.py')}", arguments.output)
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
