"""Genes that are left out of training: which, and the mistake that is named."""

import pytest
from refusals import refuses
from small_genomes import random_windows, reverse_complement

from crfkit.apps.genes.finder import GeneFinder
from crfkit.apps.genes.training_windows import check_places, training_windows
from crfkit.apps.genes.transcripts import Transcript
from crfkit.exceptions import InputError, InputWarning


def left_out(sequences, genes):
    """Return the error of training on genes that are all illegal."""
    with pytest.warns(InputWarning, match="left out"), pytest.raises(InputError) as caught:
        GeneFinder().fit(sequences, genes)
    return str(caught.value)


@pytest.mark.parametrize(("start", "end"), [(1, 1), (-1, -1), (-1, 0), (0, 1)])
def test_off_by_one(start, end):
    sequences, genes = random_windows(8, seed=1)
    moved = [[(a + start, b + end) for a, b in exons] for exons in genes]
    assert "got 0; their positions seem to be off by one" in left_out(sequences, moved)


def test_wrong_strand():
    sequences, genes = random_windows(8, seed=1)
    turned = [
        [(len(s) - b, len(s) - a) for a, b in reversed(g)] for s, g in zip(sequences, genes, strict=True)
    ]
    assert "they seem to be on the other strand" in left_out(list(map(reverse_complement, sequences)), turned)


def test_no_mistake_in_common():
    sequences, genes = random_windows(8, seed=1)
    assert left_out(sequences, [[(5, 17)]] * len(genes)).endswith("for training, got 0")


def test_few_genes_and_no_introns():
    sequences, genes = random_windows(40, seed=3)
    single = ["ATG" + "GCA" * 40 + "TAA"] * 25
    with pytest.warns(InputWarning, match="only 10 genes for training"):
        GeneFinder(max_iterations=1).fit(sequences[:10], genes[:10])
    with pytest.warns(InputWarning, match="none of the 25 training genes has an intron"):
        GeneFinder(max_iterations=1).fit(
            [f"CCTTC{s}CCATG" for s in single], [[(5, 5 + len(s))] for s in single]
        )


def test_contigs_of_another_name():
    def at(contig):
        return [Transcript(contig, "+", ((1, 4),), id="t")]

    refuses(
        "'chr1', but the genome has no such contig .*: rename it to '1'", check_places, at("chr1"), {"1": 9}
    )
    refuses("rename it to 'chr02'", check_places, at("Chr2"), {"chr02": 9})
    refuses("are both of one assembly", check_places, at("X"), {"1": 9})


def test_unknown_contigs_can_be_skipped():
    genome = {"one": b"A" * 100}
    transcripts = [Transcript("one", "+", ((10, 19),), id="a"), Transcript("two", "+", ((10, 19),), id="b")]
    found = training_windows(genome, transcripts, skip_unknown=True)
    assert [w.name for w in found.windows] == ["a"]
    assert found.unknown == ["b"]
    refuses("no such contig", training_windows, genome, transcripts)


def test_overlaps_name_both_genes():
    genes = [("a", 10, 19), ("b", 30, 60), ("c", 40, 45), ("d", 50, 55), ("e", 70, 80)]
    transcripts = [Transcript("one", "+", ((begin, end),), id=name) for name, begin, end in genes]
    found = training_windows({"one": b"A" * 100}, transcripts)
    assert [w.name for w in found.windows] == ["a", "e"]
    assert found.overlapping == [("b", "c"), ("c", "b"), ("d", "b")]
