"""Campaign: damaged and hostile files of every kind that crfkit reads.

    python tests/campaigns/fuzz.py --count 1000000 --seed 0
    python tests/campaigns/fuzz.py --replay 'csv:1234'

Valid files are damaged at random (``fuzz_mutations``) and given to their reader (``fuzz_readers``), which
must refuse them with a ``CRFKitError`` or give something that works. Findings: any other exception; the end
of the process, by a signal or a sanitizer; more than 5 seconds of computing; more than twice the memory of a
valid file (and 48 MB). `make fuzz` runs it with a core that was built with AddressSanitizer and UBSan. A
worker process does the work, in a temporary folder. Input i of a reader depends only on the seed and i, so
that it can be replayed. Prints counts; ends with 1 after any finding.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import random
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
BATCH = 100  # inputs; memory is measured per batch, and per input if a batch takes too much
SPARE = 48 << 10  # KB beyond twice the memory of a valid file
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
STARTING = b"\xff" * 8  # as progress: modules are imported, valid files used
OUTCOMES = ("refused", "refused in use", "used")


def load_file(name: str, path: str | Path) -> Any:
    """Import the Python or extension module at a path under a name."""
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is no module")
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- the worker: reads "reader first last" line by line, answers with counts and findings


class Worker:
    """Feeds damaged files to the readers of a table."""

    def __init__(self, seed: int, table: str, native: str | None) -> None:
        self.seed = seed
        if native is not None:
            import crfkit

            crfkit._native = load_file("crfkit._native", native)  # type: ignore[attr-defined]
        self.readers = load_file("fuzz_table", table).readers()
        self.limits: dict[str, int] = {}  # KB above the memory before, by reader

    def damaged(self, name: str, i: int) -> tuple[bytes, random.Random]:
        """Return input i of a reader, and the random numbers for its use."""
        reader, r = self.readers[name], random.Random(f"{self.seed}/{name}/{i}")
        return reader.damage(r, r.choice(reader.seeds), reader.seeds), r

    def use(self, name: str, data: bytes, r: random.Random) -> str:
        """Give one input to its reader; return the outcome, or raise what is a finding."""
        from crfkit.exceptions import CRFKitError

        loaded: list[None] = []
        try:
            self.readers[name].use(data, lambda: loaded.append(None), r)
        except CRFKitError:
            return "refused in use" if loaded else "refused"
        return "used"

    def warm_up(self, name: str) -> None:
        """Use the valid files, and set the limit of the memory for damaged ones."""
        for again in (False, True):  # the first time, modules are imported
            before = reset_peak()
            for i, seed in enumerate(self.readers[name].seeds):
                for k in range(4):
                    outcome = self.use(name, seed, random.Random(4 * i + k))
                    if again and outcome == "refused":
                        raise SystemExit(f"{name}: its valid file {i} is refused")
        self.limits[name] = 2 * max(0, peak() - before) + SPARE

    def batch(self, name: str, first: int, last: int, progress: mmap.mmap) -> dict[str, Any]:
        """Use the inputs first .. last - 1; return the counts of outcomes and the findings."""
        if name not in self.limits:
            progress[:8] = STARTING
            self.warm_up(name)
        counts: Counter[str] = Counter()
        findings = []
        before = reset_peak()
        for i in range(first, last):
            progress[:8] = i.to_bytes(8, "little")
            data, r = self.damaged(name, i)
            try:
                counts[self.use(name, data, r)] += 1
            except Exception as error:
                counts["found"] += 1
                findings.append((i, short(error)))
        if peak() - before > self.limits[name]:
            for i in range(first, last):
                if last - first == 1:
                    findings.append(
                        (i, f"{peak() - before} KB of memory, at most {self.limits[name]} expected")
                    )
                else:
                    findings += self.batch(name, i, i + 1, progress)["findings"]
        return {"counts": counts, "findings": findings}


def short(error: BaseException) -> str:
    """Return an exception and where it comes from, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[::-1][:4])
    return f"{type(error).__name__}: {str(error)[:200]!r} at {place}"


def reset_peak() -> int:
    """Forget the largest memory so far; return the present memory in KB."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:  # no such system: memory is not measured
        return 1 << 40
    return peak()


def peak() -> int:
    """Return the largest memory since it was forgotten, in KB."""
    with open("/proc/self/status") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)


def work(seed: int, table: str, native: str | None) -> None:
    """Answer requests until there are no more."""
    worker = Worker(seed, table, native)
    answers = os.fdopen(os.dup(1), "w")
    with open("progress", "r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        for line in sys.stdin:
            name, first, last = json.loads(line)
            print(json.dumps(worker.batch(name, first, last, progress)), file=answers, flush=True)


# ---- the campaign


class Campaign:
    """Sends batches to a worker, and starts another one if it ends or hangs."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments, self.folder = arguments, folder
        self.counts: dict[str, Counter[str]] = {}
        self.findings: list[str] = []
        self.worker: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """Return the worker, a new one if there is none."""
        if self.worker is None:
            (self.folder / "progress").write_bytes(STARTING)
            given = self.arguments
            command = [sys.executable, str(HERE / "fuzz.py"), "--work", "--table", given.table]
            command += ["--seed", str(given.seed), *(["--native", given.native] if given.native else [])]
            options = {"LD_PRELOAD": given.preload} if given.preload else {}
            self.worker = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(self.folder / "stderr").open("w"),
                text=True,
                env={**os.environ, **options, "OPENBLAS_NUM_THREADS": "1", "CRFKIT_ISA": "baseline"},
            )
        return self.worker

    def stop(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.kill()
            self.worker.communicate()
            self.worker = None

    def run(self, name: str, first: int, last: int) -> None:
        """Use the inputs first .. last - 1 of a reader."""
        counts = self.counts.setdefault(name, Counter())
        while first < last:
            worker = self.start()
            answers: IO[str] = worker.stdout  # type: ignore[assignment]
            with contextlib.suppress(BrokenPipeError):  # it has ended already
                print(json.dumps([name, first, last]), file=worker.stdin, flush=True)
            hanging = self.wait(answers)
            answer = "" if hanging else answers.readline()
            if answer:
                found = json.loads(answer)
                counts.update(found["counts"])
                self.found(name, found["findings"])
                return
            self.stop()
            said = (self.folder / "stderr").read_text(errors="replace").strip()
            if self.progress() is None and not hanging:
                sys.exit(f"the worker cannot start with the valid files of {name}: {summary(said)}")
            at = max(first, self.progress() or 0)
            what = (
                f"more than {self.arguments.hang:g} s" if hanging else f"the process ended: {summary(said)}"
            )
            self.found(name, [(at, what)])
            counts.update({"found": 1, "lost": at - first})  # the outcomes before it are not known
            first = at + 1

    def wait(self, answers: IO[str]) -> bool:
        """Wait for the worker's answer; return whether it computes at one input for too long."""
        at, since = None, 0.0
        while not select.select([answers], [], [], 0.2)[0]:
            used = self.cpu_seconds()
            now = self.progress()
            if now is None or at != now:
                at, since = now, used
            elif used - since > self.arguments.hang:
                return True
        return False

    def progress(self) -> int | None:
        """Return the input that the worker is at; None while it starts."""
        content = (self.folder / "progress").read_bytes()
        return None if content == STARTING else int.from_bytes(content, "little")

    def cpu_seconds(self) -> float:
        """Return the seconds that the worker has computed: other processes do not count."""
        try:
            fields = Path(f"/proc/{self.start().pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def found(self, name: str, findings: list[tuple[int, str]]) -> None:
        for i, what in findings:
            self.findings.append(f"{name}:{i}")
            if len(self.findings) <= 200:
                print(f"FOUND at --seed {self.arguments.seed} --replay '{name}:{i}': {what}", flush=True)


def summary(said: str) -> str:
    """Return what a sanitizer says, in one line, or the end of what was printed."""
    lines = [line for line in said.splitlines() if "Sanitizer:" in line or "runtime error:" in line]
    return (lines or said.splitlines()[-1:] or ["without a word"])[0][:300]


def shared(total: int, readers: dict[str, Any]) -> dict[str, int]:
    """Return how many inputs each reader gets."""
    shares = sum(reader.share for reader in readers.values())
    return {name: max(1, total * reader.share // shares) for name, reader in readers.items()}


def main() -> int:
    """Run the campaign; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs, in all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hang", type=float, default=5.0, help="seconds that one input may take")
    parser.add_argument("--only", help="readers whose names contain this")
    parser.add_argument("--replay", metavar="READER:I", help="use this input alone, and show what is wrong")
    parser.add_argument("--native", help="another build of crfkit._native")
    parser.add_argument("--preload", help="library of its sanitizer")
    parser.add_argument(
        "--table", default=str(HERE / "fuzz_readers.py"), help="module with the table of readers"
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.native is not None:
        given.native = os.path.abspath(given.native)
    sys.path.insert(0, str(HERE))
    warnings.simplefilter("ignore")
    if given.work:
        work(given.seed, given.table, given.native)
        return 0
    if given.replay is not None:
        return replay(given)
    readers = load_file("fuzz_table", given.table).readers()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(given, Path(folder))
        try:
            todo = shared(given.count, {n: r for n, r in readers.items() if (given.only or "") in n})
            seconds = go_through(campaign, todo, began + given.seconds)
        finally:
            campaign.stop()
    for name, counts in campaign.counts.items():
        n = counts.total()
        shown = ", ".join(f"{counts[outcome]:7,} {outcome}" for outcome in OUTCOMES)
        print(f"{name:24} {n:9,} inputs: {shown}; {n / max(seconds[name], 1e-9):6.0f} per second")
    total = sum(counts.total() for counts in campaign.counts.values())
    print(f"{total:,} inputs, {len(campaign.findings)} findings in {time.monotonic() - began:.0f} s")
    return 1 if campaign.findings else 0


def go_through(campaign: Campaign, todo: dict[str, int], end: float) -> dict[str, float]:
    """Run batches of all readers in turn, in proportion; return the seconds that each took."""
    done, seconds = dict.fromkeys(todo, 0), dict.fromkeys(todo, 0.0)
    while time.monotonic() < end:
        left = [name for name in todo if done[name] < todo[name]]
        if not left:
            break
        name = min(left, key=lambda name: done[name] / todo[name])
        last, began = min(todo[name], done[name] + BATCH), time.monotonic()
        campaign.run(name, done[name], last)
        seconds[name] += time.monotonic() - began
        done[name] = last
    return seconds


def replay(given: argparse.Namespace) -> int:
    """Use one input in this process, and keep it in a file. A sanitizer must have been preloaded."""
    os.chdir(tempfile.gettempdir())
    worker = Worker(given.seed, given.table, given.native)
    name, _, i = given.replay.rpartition(":")
    data, r = worker.damaged(name, int(i))
    kept = Path("crfkit-fuzz-input").absolute()
    kept.write_bytes(data)
    print(f"{len(data)} bytes, also in {kept}", flush=True)
    try:
        print(worker.use(name, data, r))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
