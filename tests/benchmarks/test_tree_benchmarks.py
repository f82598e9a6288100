"""The TreeCRF benchmarks run on tiny generated data in the form of the real files."""

import importlib
import random

import pytest
from benchmark_runs import BENCHMARKS, output

pytest.importorskip("lightgbm")
pytest.importorskip("pycrfsuite", reason="a rival")

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    rng = random.Random(0)
    proteins = root / "protein_qs88"
    proteins.mkdir()
    for part, n in (("train", 8), ("test", 3)):
        lines = []
        for _ in range(n):
            lines.append("<>")
            for _ in range(40):
                residue = rng.choice(AMINO_ACIDS)
                lines.append(f"{residue} {'h' if residue < 'H' else 'e' if residue < 'P' else '_'}")
            lines.append("end")
        (proteins / f"protein-secondary-structure.{part}").write_text("\n".join(lines), encoding="ascii")
    (root / "nettalk").mkdir()
    words = {"".join(rng.choice("abcd") for _ in range(rng.randint(3, 7))) for _ in range(80)}
    lines = [f"{w}\t{w.upper()}\t{''.join(rng.choice('01') for _ in w)}\t0" for w in sorted(words)]
    (root / "nettalk" / "nettalk.data").write_text("\n".join(lines), encoding="utf-8")
    (root / "faq").mkdir()
    for k in range(4):
        lines = ["head\tNAME", "head\t    perlfaq"]
        for _ in range(30):
            lines += [f"question\tHow does {rng.choice('xyz')} work?", "answer\t    It does.", "answer\t"]
        lines += ["tail\tAUTHOR"]
        (root / "faq" / f"perlfaq{k}.tsv").write_text("\n".join(lines), encoding="utf-8")
    (root / "rs126").mkdir()
    for k in range(24):
        residues = "".join(rng.choice(AMINO_ACIDS) for _ in range(30))
        states = "".join("H" if c < "H" else "E" if c < "P" else "-" for c in residues)
        rows = {"OrigSeq": residues, "dssp": states, "seq_0": residues}
        rows |= dict.fromkeys(("phd", "dsc", "nnssp", "mul", "zpred", "pred", "cons"), states)
        text = "\n".join(f"{name}:{row}" for name, row in rows.items())
        (root / "rs126" / f"{k}.concise").write_text(text, encoding="ascii")
    return root


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("proteins", ["TreeCRF, window 13", "its features", "iterations"]),
        ("proteins --tune", ["window 11", "mean of four"]),
        ("nettalk", ["phoneme and stress", "TreeCRF", "mean of two"]),
        ("nettalk --tune", ["as chosen first"]),
        ("faq", ["macro-F1", "TreeCRF, ±1 line"]),
        ("rs126", ["as stored", "both"]),
        ("missing", ["missing as missing"]),
        ("cost", ["peak memory", "≈"]),
    ],
)
def test_parts(part, words, data, tmp_path):
    printed = output("papers/treecrf.py", *part.split(), "--quick", "--plots", tmp_path, data=data)
    for word in words:
        assert word in printed


@pytest.fixture
def paths(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.syspath_prepend(str(BENCHMARKS / "papers"))


@pytest.mark.usefixtures("paths")
def test_related_chains_and_alignments():
    module = importlib.import_module("protein_chains")
    assert module.alignment_score("ACDEFG", "ACDEFG") == 12
    assert module.alignment_score("ACDEFG", "ACEFG") == 8  # a gap costs as much as a match is worth
    assert module.alignment_score("AAAA", "CCCC") == 0
    a, b = list("ACDEFGHIKLMN"), list("QRSTVWYQRSTV")
    groups = module.related([a, b, a[:11], b[1:]])
    assert groups[0] == groups[2] != groups[1] == groups[3]
    weights = module.family_weights([a, b, a[:11], list("YYYYYYYYYYYY")])
    assert weights[0] == weights[2] == pytest.approx(weights[1] / 2**0.5)
    assert weights @ [12, 12, 11, 12] == pytest.approx(47)  # as if all weighed 1


@pytest.mark.usefixtures("paths")
def test_columns_of_residues():
    module = importlib.import_module("residues")
    chains, labels = [list("IIIIRRRX"), list("GAG")], [list("eeee____"), list("h_h")]
    columns = module.ResidueColumns(chains, labels, 5)
    rows = columns(chains[0])
    assert rows[0]["residue -2"] == rows[0]["residue -1"] == "#"
    assert [rows[0][f"residue {k:+d}"] for k in range(3)] == ["I", "I", "I"]
    assert rows[0]["hydropathy, ±2"] == pytest.approx(4.5)
    assert rows[3]["hydropathy, ±1"] == pytest.approx((2 * 4.5 - 4.5) / 3)
    assert rows[1]["propensity for e, ±1"] > 0 > rows[5]["propensity for e, ±1"]
    alternating = module.ResidueColumns(chains, labels, 1)(list("IRIRIRIR"))
    assert alternating[4]["moment 170°, ±3"] > alternating[4]["moment 100°, ±5"]
    assert module.ResidueColumns(chains, labels, 1)([]) == []
