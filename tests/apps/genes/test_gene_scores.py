import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.apps.genes.gene_scores import gene_scores
from crfkit.apps.genes.transcripts import Transcript


def t(*exons, strand="+", gene="", contig="c"):
    return Transcript(contig, strand, exons, gene=gene)


def test_levels():
    true = [t((0, 10), (20, 30), gene="a"), t((0, 10), (40, 50), gene="a"), t((60, 70), strand="-", gene="b")]
    predicted = [t((0, 10), (40, 50), gene="p"), t((60, 70), gene="q"), t((90, 95), strand="-", gene="r")]
    scores = gene_scores(true, predicted)
    assert (scores.nucleotide.true, scores.nucleotide.predicted, scores.nucleotide.found) == (40, 35, 20)
    assert (scores.exon.true, scores.exon.predicted, scores.exon.found) == (4, 4, 2)
    assert (scores.transcript.true, scores.transcript.found) == (3, 1)
    assert (scores.gene.true, scores.gene.found, scores.gene.predicted, scores.gene.right) == (2, 1, 3, 1)
    assert (scores.missed_exons, scores.wrong_exons) == (2, 2)
    assert scores.gene.sensitivity == 0.5
    assert scores.gene.specificity == pytest.approx(1 / 3)


def test_nothing():
    scores = gene_scores([], [])
    assert np.isnan(scores.exon.sensitivity)
    assert np.isnan(scores.missed_exon_rate)


exon_lists = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20), st.sampled_from("+-")), max_size=8)


@given(exon_lists, exon_lists)
def test_nucleotides_and_overlaps_by_sets_of_bases(left, right):
    true, predicted = ([t((a, a + n), strand=s) for a, n, s in part] for part in (left, right))
    scores = gene_scores(true, predicted)
    mine, yours = (
        {(x.strand, base) for x in part for a, b in x.exons for base in range(a, b)}
        for part in (true, predicted)
    )
    assert scores.nucleotide.true == len(mine)
    assert scores.nucleotide.predicted == len(yours)
    assert scores.nucleotide.found == len(mine & yours)
    missed = {
        (x.strand, x.exons)
        for x in true
        if not any((x.strand, base) in yours for a, b in x.exons for base in range(a, b))
    }
    assert scores.missed_exons == len(missed)


def test_transcripts_are_checked():
    refuses("overlap or are not in order", t, (0, 10), (5, 20))
    refuses("no coding exons", t)
    refuses("strand must be", t, (0, 3), strand=".")
    assert t((0, 4), (10, 20), strand="-").phases() == (2, 0)


def test_scores_show_as_a_table():
    scores = gene_scores([], [])
    assert str(scores).splitlines()[0].split() == ["level", "sensitivity", "specificity", "true", "predicted"]
    assert list(scores.to_frame()["level"]) == ["nucleotide", "exon", "transcript", "gene"]
    assert "exons: 0 missed, 0 wrong" in scores._repr_html_()
