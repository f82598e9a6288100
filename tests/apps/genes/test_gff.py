import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.apps.genes.fasta import read_fasta
from crfkit.apps.genes.gff import read_annotation, write_gff3
from crfkit.apps.genes.transcripts import Transcript


def annotation(text):
    return read_annotation(io.BytesIO(text.encode()))


GFF = """##gff-version 3
chr1\tx\tgene\t11\t90\t.\t+\t.\tID=g1
chr1\tx\tmRNA\t11\t90\t.\t+\t.\tID=t1;Parent=g1
chr1\tx\tmRNA\t11\t90\t.\t+\t.\tID=t2;Parent=g1
chr1\tx\tCDS\t11\t20\t.\t+\t0\tParent=t1,t2
chr1\tx\tCDS\t31\t41\t.\t+\t2\tParent=t1
chr1\tx\tCDS\t61\t65\t.\t+\t2\tParent=t2
chr2\tx\tCDS\t5\t9\t.\t-\t1\tID=solo%3B1
chr2\tx\tCDS\t15\t18\t.\t-\t0\tID=solo%3B1
"""


def test_gff3():
    found = annotation(GFF)
    assert [(t.id, t.gene, t.strand, t.exons) for t in found.transcripts] == [
        ("t1", "g1", "+", ((10, 20), (30, 41))),
        ("t2", "g1", "+", ((10, 20), (60, 65))),
        ("solo;1", "solo;1", "-", ((4, 9), (14, 18))),
    ]
    assert found.transcripts[0].phases() == (0, 2)
    assert found.transcripts[2].phases() == (2, 0)
    assert found.wrong_phases == ["solo;1"]


def test_gtf_stop_codons_belong_to_the_coding_sequence():
    rows = [("CDS", 1, 6, "+"), ("CDS", 11, 13, "+"), ("stop_codon", 14, 16, "+"), ("exon", 1, 30, "+")]
    text = "".join(
        f'c\tx\t{kind}\t{a}\t{b}\t.\t{s}\t0\tgene_id "G 1"; transcript_id "T1";\r\n' for kind, a, b, s in rows
    )
    (found,) = annotation(text).transcripts
    assert (found.id, found.gene, found.exons) == ("T1", "G 1", ((0, 6), (10, 16)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("c\tx\tCDS\t1\t2", "<stream>:1: expected 9 columns separated by tabs, got 5"),
        ("c\tx\tCDS\t1\t2\t.\t?\t0\tID=a", "needs the strand"),
        ("c\tx\tCDS\tone\t2\t.\t+\t0\tID=a", "whole numbers"),
        ("c\tx\tCDS\t5\t2\t.\t+\t0\tID=a", "1 <= start <= end"),
        ("c\tx\tCDS\t0\t2\t.\t+\t0\tID=a", "1 <= start <= end"),
        ("c\tx\tCDS\t1\t2\t.\t+\t3\tID=a", "the phase must be"),
        ("c\tx\tCDS\t1\t2\t.\t+\t0\tNote=a", "belongs to no transcript"),
        ("c\tx\tCDS\t1\t9\t.\t+\t0\tID=a\nc\tx\tCDS\t5\t12\t.\t+\t0\tID=a", "overlap at 5"),
        ("c\tx\tCDS\t1\t9\t.\t+\t0\tID=a\nd\tx\tCDS\t15\t19\t.\t+\t0\tID=a", "is on c \\+ and on d"),
    ],
)
def test_bad_lines(line, message):
    refuses(message, annotation, line)


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=12),
    st.sampled_from("+-"),
    st.text(min_size=1, max_size=8).filter(lambda s: s.strip() == s and s.isprintable()),
)
def test_what_is_written_is_read(gaps, strand, name):
    bounds, at = [], 0
    for gap in gaps[: len(gaps) // 2 * 2]:
        at += gap
        bounds.append(at)
    exons = tuple(zip(bounds[::2], bounds[1::2], strict=True))
    transcript = Transcript("ctg|1 x", strand, exons, id=name, gene="g;=,&%")
    file = io.BytesIO()
    write_gff3(file, [transcript], lengths={"ctg|1 x": at})
    found = read_annotation(io.BytesIO(file.getvalue()))
    assert found.transcripts == [transcript]
    assert found.wrong_phases == []


def test_scores_and_partial_genes_are_written():
    t = Transcript("c", "+", ((0, 5),), phase=2, score=0.25, exon_scores=(0.5,), complete=(False, True))
    file = io.BytesIO()
    write_gff3(file, [t])
    lines = file.getvalue().decode().splitlines()
    assert lines[0] == "##gff-version 3"
    assert lines[2].split("\t")[5] == "0.25"
    assert lines[2].endswith("partial=10")
    assert lines[4].split("\t")[2:8] == ["CDS", "1", "5", "0.5", "+", "2"]


def fasta(text):
    return read_fasta(io.BytesIO(text.encode()))


def test_fasta():
    assert fasta(">a first\r\nACGT\r\nnnrY\n\n>b\nAC\n") == {"a": b"ACGTnnrY", "b": b"AC"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ACGT", "<stream>:1: expected a FASTA header"),
        ("", "no FASTA record"),
        (">a\n>b\nA", "<stream>:1: the record 'a' has no sequence"),
        (">a\nA\n>a\nC", "<stream>:3: the name 'a' occurs twice"),
        (">\nA", "a header without a name"),
        (">p\nMKV\nLEF", "<stream>:3: expected DNA .* got 'L' in column 1"),
    ],
)
def test_bad_fasta(text, message):
    refuses(message, fasta, text)


TAIR = """Chr1\tx\tgene\t11\t60\t.\t+\t.\tID=G1
Chr1\tx\tCDS\t11\t20\t.\t+\t0\tParent=G1.1,G1.1-Protein;
Chr1\tx\tmRNA\t11\t60\t.\t+\t.\tID=G1.1;Parent=G1
Chr1\tx\tprotein\t11\t40\t.\t+\t.\tID=G1.1-Protein;Derives_from=G1.1
Chr1\tx\tCDS\t31\t41\t.\t+\t2\tParent=G1.1,G1.1-Protein;
Chr1\tx\tmRNA\t111\t160\t.\t+\t.\tID=G2.1;Parent=G2
Chr1\tx\tpolypeptide\t111\t119\t.\t+\t.\tID=p2;Derives_from=G2.1
Chr1\tx\tCDS\t111\t119\t.\t+\t0\tParent=p2
Chr1\tx\tmRNA\t211\t260\t.\t+\t.\tID=G3.1;Parent=G3
Chr1\tx\tCDS\t211\t219\t.\t+\t0\tParent=G3.1,elsewhere
Chr1\tx\tCDS\t311\t319\t.\t+\t0\tParent=only_here
"""


def test_parents_that_are_no_transcripts():
    """A protein beside its transcript, and a parent that the file does not have, are no transcripts."""
    found = annotation(TAIR).transcripts
    assert [(t.id, t.gene) for t in found] == [
        ("G1.1", "G1"),
        ("p2", "G2"),  # the CDS has no other parent
        ("G3.1", "G3"),
        ("only_here", "only_here"),
    ]
    assert found[0].exons == ((10, 20), (30, 41))
