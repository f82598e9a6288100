"""crfkit genes on a generated genome, from files to files."""

import gzip
import io

import numpy as np
import pytest
from small_genomes import random_bases, random_windows, reverse_complement

from crfkit.apps.genes.gff import read_annotation, write_gff3
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
