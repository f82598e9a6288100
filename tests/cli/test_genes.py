"""crfkit genes on a generated genome, from files to files."""

import gzip
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from small_genomes import random_bases, random_windows, reverse_complement

from crfkit.apps.genes.fasta import read_fasta
from crfkit.apps.genes.gff import read_annotation, write_gff3
from crfkit.apps.genes.training_windows import training_windows
from crfkit.apps.genes.transcripts import Transcript


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write a soft-masked, gzipped genome of two contigs with 40 genes, and its annotation."""
    folder = tmp_path_factory.mktemp("genes")
    sequences, exons = random_windows(40, seed=12)
    rng = np.random.default_rng(0)
    contigs = {"one": "", "two": ""}
    genes = []
    for i, (sequence, parts) in enumerate(zip(sequences, exons, strict=True)):
        contig = "one" if i < 30 else "two"
        T, at, strand = len(sequence), len(contigs[contig]), "+"
        if i % 3 == 0:
            strand = "-"
            sequence, parts = reverse_complement(sequence), [(T - b, T - a) for a, b in reversed(parts)]
        genes.append(Transcript(contig, strand, tuple((a + at, b + at) for a, b in parts), gene=f"g{i}"))
        contigs[contig] += sequence + random_bases(rng, 60).lower()
    lines = "".join(f">{name} generated\n{text}\n" for name, text in contigs.items())
    (folder / "genome.fasta.gz").write_bytes(gzip.compress(lines.encode()))
    file = io.BytesIO()
    write_gff3(file, genes)
    (folder / "true.gff3").write_bytes(file.getvalue())
    return folder


def test_train_predict_eval_plot(files, run):
    model, genome, true = str(files / "m.genes"), str(files / "genome.fasta.gz"), str(files / "true.gff3")
    ran = run.ok("genes", "train", genome, true, "-m", model, "-j", "1")
    assert "40 genes to train on, 0 overlap others" in ran.err
    ran = run.ok("genes", "predict", model, genome, "-o", str(files / "found.gff3"), "-j", "1")
    found = read_annotation(files / "found.gff3")
    assert found.wrong_phases == []
    assert {t.contig for t in found.transcripts} == {"one", "two"}
    ran = run.ok("genes", "eval", true, str(files / "found.gff3"))
    table = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if "%" in line}
    assert float(table["nucleotide"][0].rstrip("%")) > 90
    assert float(table["gene"][0].rstrip("%")) > 60
    pytest.importorskip("matplotlib")
    run.ok("genes", "plot", model, genome, "one:1-3,000", "-o", str(files / "p.svg"), "--annotation", true)
    assert (files / "p.svg").read_text().startswith("<?xml")


def test_inspect(files, run):
    model = str(files / "shown.genes")
    run.ok("genes", "train", str(files / "genome.fasta.gz"), str(files / "true.gff3"), "-m", model, "-q")
    shown = run.ok("inspect", model).out
    assert re.search(r"gene finder, .* MB\n  genes +40  that it was trained on\n", shown)
    assert re.search(r"\n  donor exon side +-?\d+\.\d{3}\n", shown)
    assert re.search(r"\n  coding words of 6 bases +-?\d+\.\d{3}\n", shown)
    found = json.loads(run.ok("inspect", model, "--json").out)
    assert found["genes"] == 40
    dumped = [line.split("\t") for line in run.ok("inspect", model, "--dump").out.splitlines()]
    assert {name: float(value) for name, value in dumped} == found["weights"]
    run.fails(2, "--template needs a linear model", "inspect", model, "--template")
    run.fails(1, "has no label 'B'; it has none", "inspect", model, "--label", "B")


def test_usage_lines(run):
    assert "usage: crfkit genes train [-h] -m FILE" in run("genes", "train", "--help").out
    assert run("genes", "plot", "m", "g", "c:1-2", "-o", "x.foo").err.startswith(
        "crfkit: x.foo: expected the name of a picture that ends in .png, .svg, .pdf, got one in .foo"
    )


def test_most_genes_overlap(run, tmp_path):
    (tmp_path / "g.fa").write_text(">c\n" + "A" * 400 + "\n")
    lines = [f"c\tx\tCDS\t{i + 1}\t{i + 30}\t.\t+\t0\tID=t{i}\n" for i in range(5)]
    (tmp_path / "a.gff3").write_text("".join(lines))
    ran = run("genes", "train", str(tmp_path / "g.fa"), str(tmp_path / "a.gff3"), "-m", str(tmp_path / "m"))
    assert "0 genes to train on, 5 overlap others" in ran.err
    assert (
        "most genes are left out because their coding ranges overlap, for example those of t0 and t1"
        in ran.err
    )


def test_unknown_contigs(files, run, tmp_path):
    more = tmp_path / "more.gff3"
    more.write_text((files / "true.gff3").read_text() + "three\tx\tCDS\t1\t9\t.\t+\t0\tID=odd\n")
    words = ["genes", "train", str(files / "genome.fasta.gz"), str(more), "-m", str(tmp_path / "m"), "-q"]
    run.fails(1, "'odd' is on 'three', but the genome has no such contig", *words)
    ran = run.ok(*words, "--skip-unknown")
    assert "1 transcripts are left out, for example odd" in ran.err


def test_nothing_in_common(files, run, tmp_path):
    other = tmp_path / "other.gff3"
    other.write_text("chrX\tx\tCDS\t1\t9\t.\t+\t0\tID=odd\n")
    message = "have no contig in common (for example 'one' and 'chrX')"
    run.fails(1, message, "genes", "eval", str(files / "true.gff3"), str(other))


@pytest.mark.parametrize(("name", "n_transcripts", "n_genes"), [("at", 467, 341), ("ce", 307, 134)])
def test_annotations_of_real_genomes(name, n_transcripts, n_genes):
    """Arabidopsis as TAIR publishes it, and a worm with everything that WormBase writes."""
    root = os.environ.get("CRFKIT_DATA")
    folder = (Path(root) if root else Path(__file__).resolve().parents[3] / "shared" / "data") / "genomes"
    if not folder.is_dir():
        pytest.skip("the genomes are not at hand")
    transcripts = read_annotation(folder / f"{name}.gff3.gz").transcripts
    assert len(transcripts) == n_transcripts
    assert len(training_windows(read_fasta(folder / f"{name}.fa.gz"), transcripts).windows) == n_genes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["genes"], "name an action: one of train, predict, eval, plot"),
        (["genes", "plot", "m", "g", "chr", "-o", "x.png"], "expected a locus such as"),
    ],
)
def test_usage(words, message, run):
    run.fails(2, message, *words)


def test_files_of_another_assembly(files, run, tmp_path):
    other = tmp_path / "other.fasta"
    other.write_text(">chrX\nACGT\n")
    ran = run("genes", "train", str(other), str(files / "true.gff3"), "-m", str(tmp_path / "m"))
    assert ran.code == 1
    assert "but the genome has no such contig (it has chrX)" in ran.err
    other.write_text(">one\nACGT\n>two\nAC\n")
    ran = run("genes", "train", str(other), str(files / "true.gff3"), "-m", str(tmp_path / "m"))
    assert "beyond the 4 bases of 'one'" in ran.err
