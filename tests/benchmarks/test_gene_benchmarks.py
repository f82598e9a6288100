"""The gene benchmarks run on generated windows in the form of the real files."""

import gzip
import importlib
import json

import pytest
from benchmark_runs import BENCHMARKS, output
from small_genomes import random_windows

from crfkit.apps.genes.gff import write_gff3
from crfkit.apps.genes.seven_states import label_strings
from crfkit.apps.genes.transcripts import Transcript


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    (root / "genes").mkdir()
    sequences, exons = random_windows(40, seed=5)
    records = [
        {"id": f"g{i}", "seq": s, "exons": e, "labels": "".join(label_strings(e, len(s)))}
        for i, (s, e) in enumerate(zip(sequences, exons, strict=True))
    ]
    with gzip.open(root / "genes" / "windows_chr2.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    names = [record["id"] for record in records[:24]]
    split = {"genes": names, "splits": [{"seed": 0, "train": names[:18], "test": names[18:]}]}
    (root / "genes" / "splits_170.json").write_text(json.dumps(split), encoding="utf-8")
    genes = [
        Transcript("chr", "+", tuple((800 * i + a, 800 * i + b) for a, b in e), id=f"t{i}", gene=f"g{i}")
        for i, e in enumerate(exons)
    ]
    contig = "".join(s.ljust(800, "A") for s in sequences)
    (root / "genes" / "cneoformans_H99_chr2.fasta").write_text(f">chr\n{contig}\n", encoding="ascii")
    with (root / "genes" / "cneoformans_H99_chr2.gff3").open("wb") as out:
        write_gff3(out, genes)
    return root


@pytest.mark.parametrize("script", ["rivals/genes.py", "papers/genes.py"])
def test_quick(script, data, tmp_path):
    output(script, "--quick", "--markdown", tmp_path / "t.md", data=data)
    table = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "| exon |" in table
    assert ("crfkit" if "rivals" in script else "words of 6 bases") in table


def test_memory(data, tmp_path):
    output("gene_memory.py", "--quick", "--markdown", tmp_path / "t.md", data=data)
    rows = (tmp_path / "t.md").read_text(encoding="utf-8").splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| 1,000", "| 8,000", "| 16,000", "| 32,000"]


def test_constrained(data, tmp_path):
    files = ("--markdown", tmp_path / "t.md", "--results", tmp_path / "r.jsonl")
    output("papers/constrained.py", "genes", "--quick", *files, data=data)
    assert "| ConstrainedCRF, flip " in (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "c2 the largest feasible" in (tmp_path / "r.jsonl").read_text(encoding="utf-8")


def test_constrained_explained(data, tmp_path):
    found = output("papers/constrained.py", "explained", "--quick", "--plots", tmp_path, data=data)
    assert "| plain, to the end " in found
    assert "| σ² = 100, stopped at the constrained model's training accuracy " in found
    assert (tmp_path / "constrained_explained.png").stat().st_size > 10_000


def test_penalties_by_length_and_state(data):
    asked = ("--without", "held-out", "c1=", "c2 = 1", "--against", "σ² = 100")
    printed = output("papers/validation.py", "genes", "--quick", *asked, data=data)
    assert '| c2="auto", groups ' in printed
    assert "| penalties         | against  | splits | exons" in printed


def test_paired_intervals(monkeypatch):
    """A gene model that finds one exon more in every window is better beyond doubt; a copy is level."""
    monkeypatch.syspath_prepend(str(BENCHMARKS / "papers"))
    paired = importlib.import_module("paired_genes")
    base = [{f"g{i}": [[4, 4, i % 3, i % 3], [1, 1, 0, 0]] for i in range(30)} for _ in range(2)]
    more = [{name: [[4, 4, c[0][2] + 1, c[0][3] + 1], c[1]] for name, c in split.items()} for split in base]
    found = paired.differences(base, more)
    assert found["exon"] == pytest.approx([25, 25, 25])
    assert paired.in_words(found["exon"]) == "+25.0 (+25.0 to +25.0)"
    assert paired.in_words(found["gene"]).endswith(", level")
