"""The benchmarks of kernel CRFs run on generated data, and RS126's reader reads files in its format."""

import importlib

import numpy as np
import pytest
from benchmark_runs import BENCHMARKS, output, run

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
LIKES = {"H": "AELM", "E": "VIYF", "-": "GPND"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write chains whose helices and strands prefer certain residues."""
    root = tmp_path_factory.mktemp("data")
    (root / "rs126").mkdir()
    rng = np.random.default_rng(0)
    for number in range(14):
        states = np.repeat(rng.choice(list("HE-"), 8), rng.integers(2, 8, 8))
        rows = [
            "".join(rng.choice(list(LIKES[s] if rng.random() < 0.8 else AMINO_ACIDS)) for s in states)
            for _ in range(3)
        ]
        rows[2] = "." + rows[2][1:]
        structure = "".join(states)
        lines = [f"seq_{k}:{row}" for k, row in enumerate(rows)]
        lines += [f"OrigSeq:{rows[0]}", f"dssp:{structure}", ""]
        lines += [f"{name}:{structure}" for name in ("phd", "dsc", "nnssp", "mul", "zpred", "pred")]
        lines += [f"cons:{structure[:-1]}"]  # one residue short, as in one of the real files
        (root / "rs126" / f"c{number:02}.concise").write_text("\n".join(lines), encoding="ascii")
    (root / "nettalk").mkdir()
    words = sorted({"".join(rng.choice(list("abcde"), rng.integers(2, 5))) for _ in range(150)})
    lines = [f"{word}\t{word.upper()}\t{'0' * len(word)}\t0" for word in words]
    (root / "nettalk" / "nettalk.data").write_text("\n".join(lines), encoding="utf-8")
    return root


@pytest.fixture
def rs126(monkeypatch, data):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("CRFKIT_DATA", str(data))
    return importlib.import_module("rs126")


def test_chains(rs126):
    chains = rs126.read_chains()
    assert [chain.name for chain in chains] == [f"c{k:02}" for k in range(14)]
    chain = chains[0]
    assert chain.predicted["cons"][:-1] == chain.structure[:-1]
    assert len(chain.predicted["cons"]) == len(chain)
    counts, profile = rs126.counts(chain), rs126.profile(chain)
    assert counts[0].sum() == 2  # the third has a gap there
    assert counts[1:].sum(axis=1).tolist() == [3] * (len(chain) - 1)
    np.testing.assert_allclose(profile[:, :20].sum(axis=1), 1)
    assert profile[0, 20] == pytest.approx(1 / 3)
    assert counts[1, rs126.AMINO_ACIDS.index(chain.sequence[1])] >= 1


def test_windows(rs126):
    rows = np.arange(6.0).reshape(3, 2) + 1
    found = rs126.windows(rows, 3)
    assert found.shape == (3, 9)
    assert found[0].tolist() == [0, 0, 1, 1, 2, 0, 3, 4, 0]
    assert found[2].tolist() == [3, 4, 0, 5, 6, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="odd"):
        rs126.windows(rows, 4)


def test_splits(rs126):
    held = [number for _, part in rs126.folds(14) for number in part]
    assert sorted(held) == list(range(14))
    for learn, part in rs126.folds(14):
        assert sorted([*learn, *part]) == list(range(14))
    learn, others = rs126.few_chains(14, 5, seed=3)
    assert len(learn) == 5
    assert sorted([*learn, *others]) == list(range(14))
    assert rs126.few_chains(14, 5, seed=3)[0] == learn != rs126.few_chains(14, 5, seed=4)[0]


def test_scores(rs126):
    assert rs126.q3(["HHE-"], ["HHEE"]) == 75
    assert rs126.transition_accuracy(["HHE-", "EEE"], ["HHEE", "EEE"]) == 50
    assert rs126.transition_accuracy(["H-H"], ["HHH"]) == 0


@pytest.mark.filterwarnings("ignore")
def test_one_file_for_all_parts(data, tmp_path):
    kept = tmp_path / "kept"
    found = [
        run("papers/kernel.py", "proteins", "folds", "--quick", "--cache", kept, data=data) for _ in range(2)
    ]
    assert [done.returncode for done in found] == [0, 0], found[0].stderr
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 2
    assert found[1].stderr == ""  # nothing is measured again


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("galaxy", "KCRF, graph"),
        ("mixtures", "test log-likelihood"),
        ("proteins", "KCRF(v+e) + graph, boundaries"),
        ("folds", "stored: cons"),
        ("defaults", "NETtalk, 1,000 words"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_quick(part, words, data, tmp_path):
    pytest.importorskip("matplotlib")
    assert words in output("papers/kernel.py", part, "--quick", "--plots", tmp_path, data=data)
    assert len(list(tmp_path.iterdir())) == (0 if part in ("folds", "defaults") else 1)
