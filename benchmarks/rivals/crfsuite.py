"""crfkit and python-crfsuite side by side on CoNLL-2000 chunking: the same features, the same penalties.

    python benchmarks/rivals/crfsuite.py                  # all of it: about a quarter of an hour
    python benchmarks/rivals/crfsuite.py --quick          # 300 sentences, few iterations: does it run?
    python benchmarks/rivals/crfsuite.py --penalties 1    # one setting only

Every time is wall time; the two take turns wherever that can be done. Both stop by the same rule (an
objective that changes by less than 1e-5 of itself in ten iterations), each library's own default.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crfkit_side
import crfsuite_side
import numpy as np
import pycrfsuite
import tasks
from crfkit_side import Loaded
from crfsuite_side import TimedTrainer
from curves import Curve
from measure import alternate, seconds_of
from tables import provenance, ratio, seconds, table

from crfkit import CRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.metrics import segment_f1
from crfkit.threads import thread_count

SHARES = (0.01, 0.001)  # how near to the optimum


@dataclass(frozen=True)
class Penalty:
    """c1 and c2, and how they are written on the command line and in tables."""

    key: str
    c1: float
    c2: float
    known_optimum: float  # the best objective on record for all of CoNLL-2000

    @property
    def title(self) -> str:
        """For tables."""
        return f"c2 = {self.c2:g}" if self.c1 == 0 else f"c1 = {self.c1:g}, c2 = {self.c2:g}"


PENALTIES = (
    Penalty("0.05", 0.0, 0.05, 2197.03),
    Penalty("1", 0.0, 1.0, float("inf")),
    Penalty("l1", 0.1, 0.1, float("inf")),
)


@dataclass(frozen=True)
class Limits:
    """How much is done: all of it, or little for a trial."""

    sentences: int | None = None
    iterations: int | None = None
    rounds: int = 5  # of whatever is repeated
    passes: int = 15


FULL, QUICK = Limits(), Limits(sentences=300, iterations=15, rounds=1, passes=3)


# ---- reading features


def compare_loading(task: tasks.Task, rounds: int) -> list[list[str]]:
    """Python objects to each library's memory: attributes as lists of strings, and as dicts."""

    dicts = [[dict.fromkeys(item, True) for item in items] for items in task.X]
    rows = []
    for name, X in (("lists of strings", task.X), ("dicts", dicts)):
        found = alternate(
            {
                "crfkit": lambda X=X: crfkit_side.load(X, task.y),
                "crfsuite": lambda X=X: crfsuite_side.load(X, task.y, pycrfsuite.Trainer(verbose=False)),
            },
            rounds,
        )
        rows.append(_row(f"loading features: {name}", found["crfkit"], found["crfsuite"]))
    return rows


# ---- one pass


def compare_passes(
    loaded: Loaded, trainer: TimedTrainer, penalty: Penalty, limits: Limits, model: Path
) -> list[list[str]]:
    """Objective and gradient: after each iteration of CRFsuite's, crfkit makes its passes."""

    index = loaded.index()
    counts = sorted({1, thread_count(None)})
    objectives = {threads: loaded.objective(index, penalty.c2, threads) for threads in counts}
    times: dict[int, list[float]] = {threads: [] for threads in counts}
    x = np.random.default_rng(0).normal(scale=0.1, size=objectives[1].n_parameters)

    def passes() -> None:
        for threads, objective in objectives.items():
            times[threads].append(seconds_of(lambda objective=objective: objective(x)))

    crfsuite_side.fit(
        trainer, model, c1=penalty.c1, c2=penalty.c2, max_iterations=limits.passes, between=passes
    )
    theirs = statistics.median(trainer.durations)
    return [_row(f"one pass, {n} thread{'s' * (n > 1)}", statistics.median(times[n]), theirs) for n in counts]


# ---- training


@dataclass(frozen=True)
class Runs:
    """What was trained under one penalty."""

    penalty: Penalty
    optimum: float
    crfkit: dict[int, Curve]  # by threads
    crfsuite: dict[str, Curve]  # by algorithm
    reached: dict[str, dict[float, tuple[float, float] | None]]  # crfsuite: seconds and passes, by share
    objectives: dict[str, float]  # of crfsuite's models, by crfkit's arithmetic


def train_both(loaded: Loaded, trainer: TimedTrainer, penalty: Penalty, limits: Limits, folder: Path) -> Runs:
    """Both libraries to their own end, and crfkit further still for the optimum."""

    c = {"c1": penalty.c1, "c2": penalty.c2}
    most = limits.iterations
    ours: dict[int, Curve] = {}
    theirs: dict[str, Curve] = {}
    objectives: dict[str, float] = {}
    threads = sorted({1, thread_count(None)})
    for n in threads:
        ours[n] = crfkit_side.fit(loaded, **c, threads=n, max_iterations=most)
    theirs |= _train_crfsuite(trainer, "lbfgs", penalty, most, folder)
    if not penalty.c1:
        # An epoch costs at least a pass: with as many epochs as lbfgs needs passes, l2sgd has had its time.
        near = theirs["lbfgs"].reach(theirs["lbfgs"].objective * (1 + SHARES[-1]))
        theirs |= _train_crfsuite(trainer, "l2sgd", penalty, int(near.passes) if near else most, folder)
    long = crfkit_side.fit(loaded, **c, threads=threads[-1], tol=1e-8)
    for name in theirs:
        found = crfsuite_side.weights(_model(folder, penalty, name))
        objectives[name] = crfkit_side.objective_of(loaded, *found, **c, threads=threads[-1])
    best = [long.objective, *(curve.objective for curve in ours.values()), *objectives.values()]
    optimum = min(*best, penalty.known_optimum if limits.sentences is None else float("inf"))
    runs = Runs(penalty, optimum, ours, theirs, {}, objectives)
    for name, curve in theirs.items():
        if name == "l2sgd":
            runs.reached[name] = _reach_l2sgd(loaded, trainer, runs, folder)
        else:
            points = {share: curve.reach(optimum * (1 + share)) for share in SHARES}
            runs.reached[name] = {share: p and (p.seconds, p.passes) for share, p in points.items()}
    return runs


def _model(folder: Path, penalty: Penalty, algorithm: str) -> Path:
    return folder / f"{penalty.key}.{algorithm}.crfsuite"


def _train_crfsuite(
    trainer: TimedTrainer,
    name: str,
    penalty: Penalty,
    most: int | None,
    folder: Path,
    model: Path | None = None,
) -> dict[str, Curve]:

    target = model or _model(folder, penalty, name)
    return {
        name: crfsuite_side.fit(
            trainer, target, c1=penalty.c1, c2=penalty.c2, algorithm=name, max_iterations=most
        )
    }


def _reach_l2sgd(
    loaded: Loaded, trainer: TimedTrainer, runs: Runs, folder: Path
) -> dict[float, tuple[float, float] | None]:
    """When l2sgd comes within the smallest share of the optimum.

    The loss in its log is summed while the weights move and lies above that of the model it hands out. So its
    models after k epochs are evaluated instead, and k is found by bisection, to a tenth.
    """

    curve, penalty = runs.crfsuite["l2sgd"], runs.penalty
    last = len(curve.points)
    values = {last: runs.objectives["l2sgd"]}

    def value(k: int) -> float:
        if k not in values:
            model = folder / "part.crfsuite"
            _train_crfsuite(trainer, "l2sgd", penalty, k, folder, model)
            found = crfsuite_side.weights(model)
            values[k] = crfkit_side.objective_of(
                loaded, *found, c1=0.0, c2=penalty.c2, threads=thread_count(None)
            )
        return values[k]

    reached: dict[float, tuple[float, float] | None] = dict.fromkeys(SHARES)
    for share in SHARES[-1:]:
        target = runs.optimum * (1 + share)
        if value(last) > target:
            reached[share] = None
            continue
        low, high = 0, last  # not reached after low epochs, reached after high
        while high - low > max(1, high // 10):
            middle = (low + high) // 2
            low, high = (low, middle) if value(middle) <= target else (middle, high)
        reached[share] = (curve.points[high - 1].seconds, high)
    return reached


def training_rows(runs: Runs) -> list[list[str]]:
    """Time to a share of the optimum, time to the own end, objective at the end."""
    ours = runs.crfkit[max(runs.crfkit)]
    rows = []
    for share in SHARES:
        found = {name: reached[share] for name, reached in runs.reached.items()}
        best = min((f[0], name) for name, f in found.items() if f) if any(found.values()) else None
        point = ours.reach(runs.optimum * (1 + share))
        rows.append(
            _row(
                f"to within {share:.1%} of the optimum",
                point and point.seconds,
                best and best[0],
                f" ({point.passes:.0f} passes)" if point else "",
                f" ({best[1]}, {found[best[1]][1]:.0f} passes)" if best else "",
            )
        )
    for n, curve in runs.crfkit.items():
        lbfgs = runs.crfsuite["lbfgs"]
        rows.append(
            _row(
                f"to its own end, {n} thread{'s' * (n > 1)}",
                curve.seconds,
                lbfgs.seconds,
                f" ({curve.points[-1].passes:.0f} passes)",
                f" (lbfgs, {lbfgs.points[-1].passes:.0f} passes)",
            )
        )
    if "l2sgd" in runs.crfsuite:
        sgd = runs.crfsuite["l2sgd"]
        rows.append(["", "", f"{seconds(sgd.seconds)} (l2sgd, cut off after {len(sgd.points)} epochs)", ""])
    theirs = ", ".join(f"{value:.2f} ({name})" for name, value in runs.objectives.items())
    rows.append(["objective at the end", f"{ours.objective:.2f}", theirs, ""])
    rows.append(["optimum (best of all runs)", f"{runs.optimum:.2f}", "", ""])
    if runs.penalty.c1:
        rows.append(["features with a weight", f"{ours.active:,}", f"{runs.crfsuite['lbfgs'].active:,}", ""])
    return rows


# ---- the models


def compare_models(
    task: tasks.Task, penalty: Penalty, limits: Limits, folder: Path, their_fit: float
) -> list[list[str]]:
    """Test F1, tagging and marginals from lists of lists of strings, with each one's own model."""

    crf = CRF(c1=penalty.c1, c2=penalty.c2, all_possible_transitions=True, max_iterations=limits.iterations)
    with warnings.catch_warnings():
        if limits.iterations:
            warnings.simplefilter("ignore", ConvergenceWarning)
        whole = seconds_of(lambda: crf.fit(task.X, task.y))
    tagger = crfsuite_side.tagger(_model(folder, penalty, "lbfgs"))
    single = {n: CRF.load(_saved(crf, folder), n_jobs=n) for n in sorted({1, thread_count(None)})}

    def their_marginals() -> list[list[dict[str, float]]]:
        labels = tagger.labels()
        found = []
        for items in task.X_test:
            tagger.set(items)
            found.append([{label: tagger.marginal(label, t) for label in labels} for t in range(len(items))])
        return found

    calls = {f"tag{n}": lambda model=model: model.predict(task.X_test) for n, model in single.items()}
    calls |= {
        f"dicts{n}": lambda model=model: model.predict_marginals(task.X_test) for n, model in single.items()
    }
    calls["tag"] = lambda: [tagger.tag(items) for items in task.X_test]
    calls["dicts"] = their_marginals
    found = alternate(calls, limits.rounds)
    tokens = sum(map(len, task.y_test))
    rows = []
    for what, title in (("tag", "tagging"), ("dicts", "marginals as dicts")):
        for n in single:
            rows.append(
                _rate_row(f"{title}, {n} thread{'s' * (n > 1)}", tokens, found[f"{what}{n}"], found[what])
            )
    theirs = [tagger.tag(items) for items in task.X_test]
    ours = crf.predict(task.X_test)
    rows.append(
        [
            "test F1",
            f"{100 * segment_f1(task.y_test, ours):.2f}",
            f"{100 * segment_f1(task.y_test, theirs):.2f}",
            "",
        ]
    )
    rows.append(_row("`CRF.fit`: from Python objects to the model", whole, their_fit, "", " (lbfgs)"))
    return rows


def _saved(crf: CRF, folder: Path) -> Path:
    path = folder / "crfkit.crf"
    crf.save(path)
    return path


# ---- memory


def compare_memory(limits: Limits) -> list[list[str]]:
    """Peak memory of loading and training beside the features, each library in a process of its own."""
    found = {}
    for library in ("crfkit", "crfsuite"):
        command = [sys.executable, str(Path(tasks.__file__).with_name("memory.py")), library]
        if limits.sentences:
            command += ["--sentences", str(limits.sentences)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found[library] = json.loads(done.stdout.splitlines()[-1])
    rows = []
    for key, title in (
        ("train", "peak memory, loading + 10 iterations"),
        ("import", "memory taken by the import"),
    ):
        ours, theirs = found["crfkit"][key], found["crfsuite"][key]
        rows.append([title, f"{ours:.0f} MB", f"{theirs:.0f} MB", ratio(ours, theirs)])
    return rows


# ---- the report


def _row(
    title: str, ours: float | None, theirs: float | None, our_note: str = "", their_note: str = ""
) -> list[str]:
    return [title, seconds(ours) + our_note, seconds(theirs) + their_note, ratio(ours, theirs)]


def _rate_row(title: str, tokens: int, ours: float, theirs: float) -> list[str]:
    return [title, f"{tokens / ours:,.0f} tokens/s", f"{tokens / theirs:,.0f} tokens/s", ratio(ours, theirs)]


def report(limits: Limits, penalties: list[Penalty]) -> str:
    """All tables, each printed as soon as it is there."""

    header = ["", "crfkit", "python-crfsuite", "ratio"]
    task = tasks.conll2000(limits.sentences)
    parts = []

    def part(title: str, rows: list[list[str]]) -> None:
        parts.append(f"### {title}\n\n{table(header, rows)}\n")
        print(parts[-1], flush=True)

    memory = compare_memory(limits) if sys.platform == "linux" else []
    loading = compare_loading(task, limits.rounds)
    loaded = crfkit_side.load(task.X, task.y)
    trainer = TimedTrainer()
    reading = seconds_of(lambda: crfsuite_side.load(task.X, task.y, trainer))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        passes = compare_passes(loaded, trainer, penalties[0], limits, folder / "pass")
        index = loaded.index()
        part(
            f"{task.n_tokens:,} tokens, {len(loaded.classes)} labels, {index.n_attributes:,} attributes, "
            f"{len(index.state_labels):,} state features",
            [*loading, *passes, *memory],
        )
        for penalty in penalties:
            runs = train_both(loaded, trainer, penalty, limits, folder)
            part(f"Training, {penalty.title}", training_rows(runs))
            theirs = reading + runs.crfsuite["lbfgs"].seconds
            part(f"The models, {penalty.title}", compare_models(task, penalty, limits, folder, theirs))
    parts.append(provenance("benchmarks/rivals/crfsuite.py"))
    print(parts[-1])
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="300 sentences and few iterations")
    parser.add_argument("--sentences", type=int, help="only so many sentences of either file")
    keys = [penalty.key for penalty in PENALTIES]
    parser.add_argument("--penalties", nargs="+", choices=keys, default=keys, help="which settings to train")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    limits = QUICK if options.quick else FULL
    if options.sentences:
        limits = Limits(options.sentences, limits.iterations, limits.rounds, limits.passes)
    chosen = [penalty for penalty in PENALTIES if penalty.key in options.penalties]
    text = report(limits, chosen)
    if options.markdown is not None:
        options.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
