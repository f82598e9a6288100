"""Campaign: files of processes that are killed, of disks that are full, and files that change under a reader.

    python tests/campaigns/faults.py --count 1000 --seed 0

Whatever happens, a file must hold the bytes of the old version or those of the new one, and a reader must get
the answers of one of them, or an error. A training that is killed again and again, also while it writes a
checkpoint, must continue to the model of an uninterrupted one. ``--count`` kills must hit a process while it
writes (its temporary file is left behind); the other faults are tried in proportion. Prints counts; ends with
1 after any finding.
Writers are forks of this process, which has imported everything and trained the models. Nothing outside one
temporary folder is touched; the full disk is a small file system in memory that no other process sees.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from crfkit import CRF
from crfkit.cli import main as crfkit
from crfkit.compat import pycrfsuite
from crfkit.exceptions import ModelFileError, OutputError
from crfkit.io import open_output
from crfkit.mining import AssociationMiner, rules_html
from crfkit.optim import methods

DONE, REFUSED, WRONG = 0, 3, 4  # exit codes of a forked process
_KILLS = 20  # of one training
WORDS = [f"word{i}" for i in range(400)]


class Operation(NamedTuple):
    """Something that writes one of two versions of a file."""

    name: str
    write: Callable[[Path, int], Any]


class Prepared(NamedTuple):
    """The operations, with the bytes of both versions and the seconds that writing takes."""

    operations: list[Operation]
    versions: dict[str, list[bytes]]
    seconds: dict[str, float]
    models: list[CRF]
    train: tuple[object, ...]  # the command of a training, up to the value of --c2
    x: list[list[list[str]]]


def prepare(folder: Path) -> Prepared:
    """Train the models, and write both versions of every file."""
    methods._STOCHASTIC_FROM = 100  # so that training begins with stochastic epochs on this little data
    r = random.Random(0)
    rows = [[(w := r.choice(WORDS), w[-1], "AB"[w[-1] > "4"]) for _ in range(8)] for _ in range(200)]
    x = [[[f"w={w}", f"s={s}"] for w, s, _ in sequence] for sequence in rows]
    y = [[label for *_, label in sequence] for sequence in rows]
    models = [CRF(c2=c2, n_jobs=1).fit(x, y) for c2 in (0.1, 1.0)]
    rules = [AssociationMiner(important=False, min_support=n, n_jobs=1).fit(x, y).rules_ for n in (2, 3)]
    data = folder / "data.txt"
    data.write_text("\n".join("".join(" ".join(row) + "\n" for row in s) for s in rows), encoding="utf-8")
    for i in (0, 1):
        models[i].save(folder / f"{i}.crfkit")
    crfkit(["train", str(data), "-m", str(folder / "columns.crfkit"), "-q", "-j", "1"])

    def command(*arguments: object) -> None:
        code = crfkit([*map(str, arguments)])
        if code:
            raise SystemExit(REFUSED if code == 1 else code)

    def labels(path: Path, i: int) -> None:
        with open_output(path) as file:
            for _ in range(40):
                file.write(b"%d word label\n" % i * 500)

    train = ("train", data, "-q", "-j", 1, "--c2")
    tag = ("tag", folder / "columns.crfkit", data, "-q", "-j", 1, "-o")
    operations = [
        Operation("CRF.save", lambda path, i: models[i].save(path)),
        Operation("CRF.save_crfsuite", lambda path, i: models[i].save_crfsuite(path)),
        Operation("Rules.save", lambda path, i: rules[i].save(path)),
        Operation("a page", lambda path, i: rules_html(rules[i], path)),
        Operation("labels", labels),
        Operation("crfkit train", lambda path, i: command(*train, 1 + i, "-m", path)),
        Operation("crfkit tag", lambda path, i: command(*tag, path, *["--score"] * i)),
        Operation("crfkit convert", lambda path, i: command("convert", folder / f"{i}.crfkit", path, "-q")),
    ]
    versions, seconds = {}, {}
    for operation in operations:
        path = folder / "version"
        written = []
        for i in (0, 1, 0, 1):
            began = time.perf_counter()
            operation.write(path, i)
            seconds[operation.name] = time.perf_counter() - began
            written.append(path.read_bytes())
        if written[:2] != written[2:] or written[0] == written[1]:
            raise SystemExit(f"{operation.name}: its two versions must differ, and be the same each time")
        versions[operation.name] = written[:2]
    return Prepared(operations, versions, seconds, models, train, x)


class Campaign:
    """The faults, the counts, and what was found."""

    def __init__(self, prepared: Prepared, folder: Path, seed: int, seconds: float) -> None:
        self.prepared, self.folder, self.random = prepared, folder, random.Random(seed)
        self.ends = time.monotonic() + seconds
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.ends

    def finding(self, fault: str, operation: Operation, what: str) -> None:
        self.findings.append(f"{fault}, {operation.name}: {what}")

    def check(self, fault: str, operation: Operation, path: Path, *, only: int | None = None) -> None:
        """Check that the file holds the old or the new version (``only`` one of them), and count it."""
        content = path.read_bytes() if path.exists() else None
        known = self.prepared.versions[operation.name]
        if content not in (known if only is None else [known[only]]):
            size = "missing" if content is None else f"{len(content)} bytes"
            self.finding(fault, operation, f"the file is neither the old nor the new one ({size})")
        else:
            which = "the old or the new file" if only is None else ("the old file", "the new file")[only]
            self.counts[f"{fault}: {which}"] += 1

    def place(self, operation: Operation) -> Path:
        folder = self.folder / operation.name.replace(" ", "-")
        folder.mkdir(exist_ok=True)
        return folder / "file"

    # ---- the faults

    def kill(self, operation: Operation, number: signal.Signals) -> bool:
        """Kill a writer at any moment; return whether it was writing."""
        fault, path = f"kill -{number.name.removeprefix('SIG')}", self.place(operation)
        if not path.exists():
            operation.write(path, 0)
        before = set(temporary_files(path))

        def write_on() -> None:
            i = 1
            while True:
                operation.write(path, i)
                i = 1 - i

        child = fork(write_on)
        time.sleep(self.random.uniform(0.0, 2 * self.prepared.seconds[operation.name]))
        os.kill(child, number)
        os.waitpid(child, 0)
        self.check(fault, operation, path)
        left = set(temporary_files(path))
        if len(left) > 1:
            self.finding(fault, operation, f"{len(left)} temporary files: old ones are not removed")
        self.counts[f"{fault}: while writing"] += bool(left - before)
        self.counts[f"{fault}: while writing, {operation.name}"] += bool(left - before)
        return bool(left - before)

    def limit(self, operation: Operation) -> None:
        """Forbid files of more than some bytes: the disk is full for the writer."""
        fault, path = "limit on files", self.place(operation)
        operation.write(path, 0)
        bytes_ = self.random.randrange(len(self.prepared.versions[operation.name][1]) + 1000)

        def write() -> None:
            # What is rescued must stay within the folder.
            tempfile.tempdir = os.environ["HOME"] = str(path.parent)
            os.chdir(path.parent)
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            operation.write(path, 1)

        self.outcome(fault, operation, path, fork(write))

    def outcome(self, fault: str, operation: Operation, path: Path, child: int) -> None:
        """Check the end of a writer that may have been refused."""
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code in (DONE, REFUSED):
            self.check(fault, operation, path, only=1 if code == DONE else 0)
        else:
            self.finding(fault, operation, f"the writer ended with {code}")
        if list(temporary_files(path)):
            self.finding(fault, operation, "a temporary file is left")

    def full_disk(self, operation: Operation) -> None:
        """Write on a disk that has room for a part; a trained model must be found elsewhere."""
        fault, path = "full disk", self.place(operation)
        filler, elsewhere = self.folder / "filler", Path(tempfile.gettempdir())
        old, new = self.prepared.versions[operation.name]
        filler.unlink(missing_ok=True)
        operation.write(path, 0)
        free = shutil.disk_usage(self.folder).free
        wanted = self.random.randrange(len(new) + 8192)
        filler.write_bytes(bytes(max(0, free - wanted)))
        child = fork(lambda: operation.write(path, 1))
        self.outcome(fault, operation, path, child)
        filler.unlink()
        kept = [place.read_bytes() for place in elsewhere.glob("crfkit-*")]
        if operation.name == "crfkit train" and path.read_bytes() == old and kept != [new]:
            self.finding(fault, operation, "the trained model is lost")
        self.counts[f"{fault}: kept elsewhere"] += len(kept)
        for place in elsewhere.glob("crfkit-*"):
            place.unlink()
        path.unlink()

    def change_under_reader(self, how: str) -> None:
        """Change a model file while a process loads and uses it again and again."""
        fault, reader = f"{how} under a reader", Operation("CRF.load", lambda *_: None)
        path = self.folder / "read"
        suffix = "crfsuite" if "crfsuite" in how else "crfkit"
        contents = self.prepared.versions["CRF.save_crfsuite" if suffix == "crfsuite" else "CRF.save"]
        x = self.prepared.x[:3]
        answers = [model.predict_marginals(x) for model in self.prepared.models]
        path.write_bytes(contents[0])
        receiver, sender = os.pipe()
        ends = time.monotonic() + 0.3

        def read() -> None:
            while time.monotonic() < ends:
                try:
                    model = CRF.load(path, n_jobs=1, mmap=True if "mapped" in how else None)
                    if suffix == "crfsuite":
                        pycrfsuite.Tagger().open(path)
                except (ModelFileError, FileNotFoundError):
                    os.write(sender, b"r")
                    continue
                time.sleep(0.001)
                if model.predict_marginals(x) not in answers:
                    os._exit(WRONG)
                os.write(sender, b"a")

        child = fork(read)
        os.close(sender)
        while time.monotonic() < ends:
            content = self.random.choice(contents)
            if "replaced" in how:
                with open_output(path) as file:
                    file.write(content)
            elif "truncated" in how:
                path.write_bytes(content[: self.random.randrange(len(content))])
                time.sleep(0.002)
                with open_output(path) as file:
                    file.write(content)
            else:
                path.write_bytes(content)
            time.sleep(self.random.uniform(0, 0.004))
        with open(receiver, "rb") as told:
            seen = Counter(told.read())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != DONE:
            self.finding(fault, reader, f"the reader ended with {code}")
        self.counts[f"{fault}: right answers"] += seen[ord("a")]
        self.counts[f"{fault}: refused"] += seen[ord("r")]

    def kill_and_resume(self) -> None:
        """Kill a training that writes a checkpoint after every iteration, and continue it, until it ends."""
        fault, training = "kill -KILL in training", Operation("crfkit train --resume", lambda *_: None)
        folder = self.folder / "training"
        folder.mkdir(exist_ok=True)
        model, part = folder / "model", folder / "part"
        model.unlink(missing_ok=True)
        options = ("--checkpoint", part, "--checkpoint-minutes", 0, "--resume", "-q", "-j", 1)
        expected = self.prepared.versions["crfkit train"][0]

        def train() -> None:
            raise SystemExit(crfkit([*map(str, (*self.prepared.train, 1, "-m", model, *options))]))

        for n in forever():
            child = fork(train)
            if n < _KILLS:
                time.sleep(self.random.uniform(0.2, 1.5) * self.prepared.seconds["crfkit train"])
                os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code == DONE:
                break
            if code != -signal.SIGKILL:
                self.finding(fault, training, f"it ended with {code}")
                return
            self.counts[f"{fault}: killed"] += 1
            self.counts[f"{fault}: while writing"] += bool(list(temporary_files(part)))
            self.counts[f"{fault}: with a checkpoint"] += part.exists()
        if model.read_bytes() != expected:
            self.finding(fault, training, "the model is not that of an uninterrupted training")
        left = [name for name in os.listdir(folder) if name != "model"]
        if left:
            self.finding(fault, training, f"{', '.join(left)} stayed")
        self.counts[f"{fault}: continued to the same model"] += 1

    # ---- all of them

    def run(self, count: int) -> None:
        """Try everything: ``count`` kills while writing, the others in proportion."""
        operations = self.prepared.operations
        done = 0
        for k in forever():
            if done >= count or self.is_over:
                break
            done += self.kill(operations[k % len(operations)], signal.SIGKILL)
        for k in range(max(len(operations), count // 5)):
            if self.is_over:
                break
            self.kill(operations[k % len(operations)], signal.SIGTERM)
            self.limit(operations[k % len(operations)])
        for operation in operations:  # the next writer removes what the killed ones left
            path = self.place(operation)
            operation.write(path, 0)
            if list(temporary_files(path)):
                self.finding("kill", operation, "a temporary file is left after the next write")
        for k in range(max(2, count // 20)):
            if k and self.is_over:
                break
            self.kill_and_resume()
        for k in range(max(5, count // 50)):
            if self.is_over:
                break
            kinds = ("replaced", "mapped and replaced", "truncated", "truncated crfsuite", "overwritten")
            self.change_under_reader(kinds[k % len(kinds)])

    def run_on_full_disk(self, count: int) -> None:
        for k in range(count):
            if self.is_over:
                break
            self.full_disk(self.prepared.operations[k % len(self.prepared.operations)])


def forever() -> Iterator[int]:
    k = 0
    while True:
        yield k
        k += 1


def temporary_files(path: Path) -> Iterator[str]:
    return (name for name in os.listdir(path.parent) if name.startswith(".crfkit-"))


def fork(work: Callable[[], Any]) -> int:
    """Run ``work`` in a forked process without output; return its number."""
    child = os.fork()
    if child:
        return child
    code = WRONG
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        work()
        code = DONE
    except OutputError:
        code = REFUSED
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        code = WRONG
    finally:
        os._exit(code)


def on_full_disk(folder: Path, count: int, seed: int, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run this script on a small file system of its own, which only it sees."""
    (folder / "disk").mkdir()
    (folder / "elsewhere").mkdir()
    script = (
        f'mount -t tmpfs -o size=1m crfkit "{folder}/disk" || exit 77; TMPDIR="{folder}/elsewhere" '
        f'exec "{sys.executable}" "{__file__}" --on "{folder}/disk" --count {count} --seed {seed} '
        f"--seconds {seconds}"
    )
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="kills while writing (default: 1000)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="time limit (default: an hour)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--on", type=Path, help=argparse.SUPPRESS)  # the small file system
    arguments = parser.parse_args(argv)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crfkit faults ") as name:
        folder = Path(name)
        campaign = Campaign(prepare(folder), arguments.on or folder, arguments.seed, arguments.seconds)
        if arguments.on is not None:
            campaign.run_on_full_disk(arguments.count)
        else:
            campaign.run(arguments.count)
    for what, n in sorted(campaign.counts.items()):
        print(f"{n:8,}  {what}")
    for what in campaign.findings:
        print(f"FOUND: {what}")
    code = 1 if campaign.findings else 0
    if arguments.on is None:
        with tempfile.TemporaryDirectory(prefix="crfkit faults ") as name:
            disk = None
            with contextlib.suppress(FileNotFoundError):  # no unshare
                disk = on_full_disk(
                    Path(name), max(16, arguments.count // 5), arguments.seed, arguments.seconds
                )
        if disk is None or not disk.stdout:
            print("          full disk: not tried, no file system can be mounted here")
        else:
            print(disk.stdout + disk.stderr, end="")
            code = code or disk.returncode
        print(f"{time.monotonic() - began:8.0f}  seconds")
    return code


if __name__ == "__main__":
    sys.exit(main())
