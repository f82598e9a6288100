"""The benchmarks run on tiny generated data, and measure what they claim."""

import importlib
import random

import numpy as np
import pytest
from benchmark_runs import BENCHMARKS, output, run

pytest.importorskip("pycrfsuite", reason="the benchmarks compare with python-crfsuite")


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write data in the form of the real files: chunks that depend on the tag, letters with sounds."""
    root = tmp_path_factory.mktemp("data")
    rng = random.Random(0)
    chunks = {"DT": "B-NP", "NN": "I-NP", "VB": "B-VP", "RB": "I-VP", ".": "O"}
    (root / "conll2000").mkdir()
    for name in ("train", "test"):
        lines = []
        for _ in range(30):
            for _ in range(rng.randint(1, 8)):
                tag = rng.choice(list(chunks))
                chunk = chunks[tag] if rng.random() < 0.9 else "O"
                lines.append(f"w{rng.randint(0, 20)} {tag} {chunk}")
            lines.append("")
        (root / "conll2000" / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    (root / "nettalk").mkdir()
    words = []
    for _ in range(40):
        word = "".join(rng.choice("abcd") for _ in range(rng.randint(2, 7)))
        stress = "".join(rng.choice("01") for _ in word)
        words.append(f"{word}\t{word.upper()}\t{stress}\t0")
    (root / "nettalk" / "nettalk.data").write_text("\n".join(words), encoding="utf-8")
    return root


def test_rival(data, tmp_path):
    options = ("--quick", "--penalties", "1", "l1", "--markdown", tmp_path / "tables.md")
    output("rivals/crfsuite.py", *options, data=data)
    written = (tmp_path / "tables.md").read_text(encoding="utf-8")
    for row in ("loading features: dicts", "one pass, 1 thread", "to within 0.1% of the optimum", "test F1"):
        assert row in written
    for penalty in ("c2 = 1", "c1 = 0.1, c2 = 0.1"):
        assert f"Training, {penalty}" in written
    assert "python benchmarks/rivals/crfsuite.py --quick" in written


def test_confidence(data):
    printed = output("confidence.py", "--quick", "--data", "conll2000", data=data)
    for row in ("| temperature, ", "| isotonic ", "| compact, without weights below 0.05 |", "| 99 % "):
        assert row in printed


def test_command_line(data):
    printed = output("rivals/command_line.py", "--quick", data=data)
    for tool in ("crfkit", "python-crfsuite"):
        assert f"| {tool} " in printed


def test_the_rival_sees_the_same_attributes(module):
    from crfkit.features import Template

    template = Template.read(BENCHMARKS / "chunking.template")
    rows = [["He", "P"], ["runs", "V"], [".", "."]]
    ours = [[name.split(":", 1)[1] for name in item] for item in template.attributes(rows)]
    theirs = [[name.split(":", 1)[1] for name in item] for item in module("crfsuite_tool").attributes(rows)]
    assert ours == theirs
    assert len(theirs[0]) == 19


def test_scaling(data, tmp_path):
    printed = output("scaling.py", "--quick", "--plot", tmp_path / "plot.png", data=data)
    for title in ("Against labels", "Against features", "NETtalk"):
        assert title in printed
    assert (tmp_path / "plot.png").exists() or "matplotlib is not installed" in printed


def test_graphs(data):
    printed = output("graphs.py", "--quick", data=data)
    for name in ("crfkit", "NumPy", "residual"):
        assert name in printed


def test_orders(data):
    few = ("--words", 30, "--test-words", 5, "--orders", 1, 2, 3, "--no-stress")
    printed = output("orders.py", "nettalk", "--tune", *few, data=data)
    assert printed.count("labels") == 3


def test_second_order(data):
    printed = output("second_order.py", "--quick", "--c1", 0, "--c2", 0.1, 1, data=data)
    assert "Held-out parts of the training file" in printed
    assert "on the test file" in printed


def test_segments(data):
    printed = output("segments.py", "--quick", data=data)
    assert "The last 6 of 30 sentences of the training file" in printed
    assert printed.count("segments with attributes") == 6
    assert printed.count("segments alone") == 1


def test_second_order_leaves_the_test_file_alone(data):
    printed = output("second_order.py", "--quick", "--orders", 2, "--c2", 1, "--no-test", data=data)
    assert "test file" not in printed


def test_selection(data, tmp_path):
    parts = ("casino", "text", "induction", "--quick", "--plots", tmp_path / "plots")
    printed = output("papers/selection.py", *parts, data=data)
    assert "Pool F_0; the full model reaches" in printed
    assert "| T(real, real)  | 4317.6 |" in printed  # from the paper
    assert "The smallest of these numbers within 0.1 of the full model" in printed
    pytest.importorskip("matplotlib")
    assert len(list((tmp_path / "plots").iterdir())) == 2


@pytest.mark.filterwarnings("ignore")
def test_associations(data, tmp_path):
    for part in ("test", "beyond"):
        printed = output(
            "papers/associations.py", part, "--quick", "--cache", tmp_path / "cv.json", data=data
        )
        assert "| important" in printed or "| votes" in printed


def test_mining(data):
    pytest.importorskip("fim", reason="the rival is pyfim")
    printed = output("rivals/mining.py", "--quick", data=data)
    assert "are the same" in printed


def test_missing_data(tmp_path):
    done = run("rivals/crfsuite.py", "--quick", data=tmp_path)
    assert done.returncode == 1
    assert "CRFKIT_DATA" in done.stderr
    assert "Traceback" not in done.stderr


def test_templates(module):
    tasks = module("tasks")
    assert len(tasks.TEMPLATES) == 19
    items = tasks.apply_templates(["He", "runs"], ["P", "V"])
    assert items == [
        ["w[0]=He", "w[1]=runs", "w[0]|w[1]=He|runs", "p[0]=P", "p[1]=V", "p[0]|p[1]=P|V", "__BOS__"],
        ["w[-1]=He", "w[0]=runs", "w[-1]|w[0]=He|runs", "p[-1]=P", "p[0]=V", "p[-1]|p[0]=P|V", "__EOS__"],
    ]


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.05), (0.0, 1.0), (0.1, 0.1)])
def test_both_minimise_the_same(module, monkeypatch, data, tmp_path, c1, c2):
    """CRFsuite's logged objective equals crfkit's for the same weights, and both reach the same optimum."""
    monkeypatch.setenv("CRFKIT_DATA", str(data))
    tasks, ours, theirs = module("tasks"), module("crfkit_side"), module("crfsuite_side")
    task = tasks.conll2000()
    loaded = ours.load(task.X, task.y)
    trainer = theirs.load(task.X, task.y)
    model = tmp_path / "model"
    curve = theirs.fit(trainer, model, c1=c1, c2=c2)
    value = ours.objective_of(loaded, *theirs.weights(model), c1=c1, c2=c2, threads=1)
    assert value == pytest.approx(curve.objective, rel=1e-5)
    assert ours.fit(loaded, c1=c1, c2=c2, threads=1).objective == pytest.approx(curve.objective, rel=1e-3)
    assert trainer.n_features == loaded.index().n_features


def test_the_clock_leaves_out_what_is_done_in_between(module, monkeypatch, data, tmp_path):
    monkeypatch.setenv("CRFKIT_DATA", str(data))
    import time

    tasks, theirs = module("tasks"), module("crfsuite_side")
    task = tasks.conll2000()
    trainer = theirs.load(task.X, task.y)
    curve = theirs.fit(
        trainer, tmp_path / "model", c1=0.0, c2=1.0, max_iterations=5, between=lambda: time.sleep(0.2)
    )
    assert len(curve.points) == 5
    assert curve.seconds < 0.5
    assert curve.points[-1].seconds <= curve.seconds
    assert curve.points[-1].passes >= 6


def test_constrained_text(data, tmp_path):
    output("papers/constrained.py", "text", "--quick", "--markdown", tmp_path / "t.md", data=data)
    found = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "| CRF, c2 tuned by cross-validation" in found
    assert "| constrained, random thirds" in found


def test_validation(data):
    printed = output("papers/validation.py", "text", "--quick", data=data)
    for row in ("| one c2, 5-fold CV of the score |", '| c2="auto", groups ', '| validation="held-out" '):
        assert row in printed


def test_annotate(data, tmp_path):
    options = ("--quick", "--results", tmp_path / "runs.jsonl", "--plot", tmp_path / "plot.png")
    printed = output("annotate.py", *options, data=data)
    for row in ("| total  |", "| token  |", "| random |", "Share of right labels"):
        assert row in printed
    assert (tmp_path / "plot.png").stat().st_size > 0
    assert len((tmp_path / "runs.jsonl").read_text(encoding="utf-8").splitlines()) == 1 + 3 * 2
    assert output("annotate.py", *options, data=data).splitlines()[:9] == printed.splitlines()[:9]
    assert "| c2 = 0.1" in output("annotate.py", "--quick", "--penalties", data=data)


def test_penalty_rules(module, monkeypatch):
    """Where the best c2 is 0.01 at 30 sequences and ten times as large at 300, the rule says so."""
    monkeypatch.syspath_prepend(str(BENCHMARKS / "papers"))
    rules = module("penalty_rules")
    scores = {
        (title, n, 0): {
            **{str(c2): 90 - abs(np.log10(c2 / 0.01 * 30 / n)) for c2 in rules.GRID},
            "auto": 90.0,
        }
        for title in "abc"
        for n in (30, 300)
    }
    at_100, slope = rules.best_rule(scores, rules.SLOPES)
    assert (round(np.log10(at_100), 1), slope) == (-1.5, 1.0)
    assert rules.loss(scores, rules.rule_of(at_100, slope)) == pytest.approx(0, abs=0.1)
    assert rules.loss(scores, lambda n: 1.0) == pytest.approx(1.5)
    table = rules.report(scores, scores)
    assert "| 0.50 (c2 = " in table
    assert "| 0.00 |" in table.replace(" |", " |")


def test_penalty_scales(data):
    written = output("papers/penalty_scales.py", "learn", "--quick", data=data)
    assert "token_features:" in written
    assert '"transitions": ' in written
