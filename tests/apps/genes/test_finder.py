"""The gene finder on generated genomes."""

import copy

import numpy as np
import pytest
from refusals import refuses, unreadable
from small_genomes import is_legal, random_bases, random_windows, reverse_complement

from crfkit import CRF
from crfkit.apps.genes import GeneFinder
from crfkit.apps.genes.bases import encode_bases
from crfkit.apps.genes.finder_training import StructureLikelihood, cross_fitted, whitening
from crfkit.apps.genes.legality import fault_of
from crfkit.apps.genes.plot import plot_locus
from crfkit.apps.genes.structure_scores import WeightNames
from crfkit.apps.genes.training_windows import training_windows
from crfkit.apps.genes.transcripts import Transcript
from crfkit.exceptions import InputWarning


@pytest.fixture(scope="module")
def finder():
    sequences, exons = random_windows(60, seed=1)
    return GeneFinder(n_jobs=1).fit(sequences, exons)


@pytest.fixture(scope="module")
def genome():
    """Return a contig with four genes (the second and fourth on the other strand) and their places."""
    sequences, exons = random_windows(4, seed=77)
    rng = np.random.default_rng(3)
    text, true = "", []
    for i, (sequence, parts) in enumerate(zip(sequences, exons, strict=True)):
        T = len(sequence)
        turned = i % 2 == 1
        if turned:
            sequence, parts = reverse_complement(sequence), [(T - b, T - a) for a, b in reversed(parts)]
        at = len(text)
        true.append(
            Transcript(
                "chr",
                "-" if turned else "+",
                tuple((a + at, b + at) for a, b in parts),
                id=f"t{i}",
                gene=f"g{i}",
            )
        )
        text += sequence + random_bases(rng, 100)
    return text, true


def test_single_genes(finder):
    sequences, exons = random_windows(30, seed=9)
    found = finder.predict(sequences)
    right = 0
    for sequence, parts, genes in zip(sequences, exons, found, strict=True):
        for gene in genes:
            assert is_legal(sequence, list(gene.exons))
            assert 0 <= gene.score <= 1
            assert all(0 <= p <= 1 for p in gene.exon_scores)
            assert gene.complete == (True, True)
        right += [list(gene.exons) for gene in genes] == [parts]
    assert right >= 24


def test_both_strands(finder, genome):
    text, true = genome
    (found,) = finder.predict([text], both_strands=True, names=["chr"])
    assert {(g.strand, g.exons) for g in found} >= {(t.strand, t.exons) for t in true[:1]}
    shared = {(g.strand, g.exons) for g in found} & {(t.strand, t.exons) for t in true}
    assert len(shared) >= 3
    for gene in found:
        exons, sequence = list(gene.exons), text
        if gene.strand == "-":
            sequence = reverse_complement(text)
            exons = [(len(text) - b, len(text) - a) for a, b in reversed(exons)]
        assert is_legal(sequence, exons)
        assert gene.phase == 0
    # The reverse complement of a sequence has the same genes, reversed.
    (other,) = finder.predict([reverse_complement(text)], both_strands=True)
    T = len(text)
    turned = {tuple((T - b, T - a) for a, b in reversed(g.exons)) for g in other}
    assert turned == {g.exons for g in found}


def test_pieces_give_what_the_whole_gives(finder, genome, monkeypatch):
    text, _ = genome
    whole = finder.predict([text], both_strands=True)[0]
    monkeypatch.setattr("crfkit.apps.genes.search._PIECE", 700)
    monkeypatch.setattr("crfkit.apps.genes.search._MARGIN", 900)
    pieces = finder.predict([text], both_strands=True)[0]
    assert {g.exons for g in pieces} == {g.exons for g in whole}


def test_short_sequences(finder, genome):
    """Contigs shorter than a word of the measures, and short ones beside others: searched together."""
    text = genome[0][:2000]
    pieces = [text[:n] for n in range(12)] + [text]
    for partial in (False, True):
        together = finder.predict(pieces, both_strands=True, partial=partial)
        alone = [finder.predict([piece], both_strands=True, partial=partial)[0] for piece in pieces]
        assert [[g.exons for g in genes] for genes in together] == [
            [g.exons for g in genes] for genes in alone
        ]
    assert together[-1]
    assert all(len(finder.posterior(piece)["-"].intron) == len(piece) for piece in pieces)


def test_partial_genes(finder):
    sequences, exons = random_windows(12, seed=21)
    cut = 0
    for sequence, parts in zip(sequences, exons, strict=True):
        middle = (parts[0][0] + parts[0][1]) // 2
        (found,) = finder.predict([sequence[middle:]], partial=True)
        if found and found[0].start == 0 and found[0].complete == (False, True):
            assert found[0].phase == (parts[0][0] - middle) % 3
            cut += 1
    assert cut >= 6


def test_posteriors(finder, genome):
    text, true = genome
    tracks = finder.posterior(text)
    for track in tracks.values():
        assert track.coding.shape == (len(text),)
        assert (track.coding + track.intron <= 1 + 1e-9).all()
    a, b = true[0].exons[0]
    assert tracks["+"].coding[a:b].mean() > 0.8
    assert tracks["-"].coding[a:b].mean() < 0.2


def test_save_and_load(finder, tmp_path, genome):
    finder.save(tmp_path / "m.genes")
    again = GeneFinder.load(tmp_path / "m.genes")
    text, _ = genome
    assert again.predict([text], both_strands=True) == finder.predict([text], both_strands=True)
    assert again.weights_ == finder.weights_
    sequences, exons = random_windows(60, seed=1)
    GeneFinder(n_jobs=1).fit(sequences, exons).save(tmp_path / "again.genes")
    assert (tmp_path / "again.genes").read_bytes() == (tmp_path / "m.genes").read_bytes()
    (tmp_path / "m.genes").write_bytes(b"")  # overwritten in place
    assert again.predict([text], both_strands=True) == finder.predict([text], both_strands=True)
    CRF().fit([[["a"], ["b"]]], [["x", "y"]]).save(tmp_path / "m.crfkit")
    unreadable("expected a gene finder", GeneFinder.load, tmp_path / "m.crfkit")


def test_gradient():
    sequences, exons = random_windows(8, seed=4)
    codes = [encode_bases(s) for s in sequences]
    settings = {"longest_intron": 200, "donors": ("GT",)}
    from crfkit.apps.genes.evidence import estimate

    evidence = estimate(codes, exons, **settings)
    measured = cross_fitted(codes, exons, folds=3, **settings)
    names = WeightNames(len(evidence.tables))
    transform = whitening(measured, exons, evidence, names, 0.1)
    objective = StructureLikelihood(measured, exons, evidence, names, c2=0.1, n_jobs=1, transform=transform)
    rng = np.random.default_rng(0)
    x = rng.normal(size=len(names)) * 0.3
    gradient = objective(x).gradient
    for _ in range(4):
        d = rng.normal(size=len(names))
        slope = (objective(x + 1e-5 * d).value - objective(x - 1e-5 * d).value) / 2e-5
        assert slope == pytest.approx(gradient @ d, rel=1e-4)
    assert objective(x * 1e12).value == np.inf  # a step that is too long, not an error


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("coding bias", "base scores of a gene finder must be at most"),
        ("start bias", "site scores of a gene finder"),
        ("single bias", "exon length scores of a gene finder"),
        ("intron length", "intron length scores of a gene finder"),
    ],
)
def test_scores_beyond_what_sums_can_hold_are_refused(finder, genome, weight, message):
    """As in lattices: from 10⁹ on, probabilities would be wrong."""
    text = genome[0]
    huge = copy.copy(finder)
    huge._w = finder._w.copy()
    at = huge._names.at(weight)
    for value in (9e8, -9e8):  # the bound is 10⁹
        if not weight.endswith("length"):
            huge._w[at] = value
            assert np.isfinite(huge.posterior(text)["+"].coding).all()
    for value in (1.1e9, -1.1e9, 1e300):
        huge._w[at] = value
        refuses(message, huge.predict, [text])
        refuses(message, huge.posterior, text)


def test_faults():
    def fault(text, exons):
        return fault_of(encode_bases(text), exons, min_intron=4, longest_intron=50)

    assert fault("ATGCCCTAA", [(0, 9)]) is None
    assert "not a multiple of 3" in fault("ATGCCCTAA", [(0, 8)])
    assert "begin with ATG" in fault("ACGCCCTAA", [(0, 9)])
    assert "end with a stop" in fault("ATGCCCTCA", [(0, 9)])
    assert "stop codon in frame" in fault("ATGTAATAA", [(0, 9)])
    assert "unknown bases" in fault("ATGCNCTAA", [(0, 9)])
    assert "beyond" in fault("ATG", [(0, 9)])
    assert "not GT-AG" in fault("ATGCCCAACCAGTAA", [(0, 6), (12, 15)])
    assert "not 4 to 50" in fault("ATGCCCGAGTAA", [(0, 6), (9, 12)])
    assert "fewer than 3" in fault("ATGCCGTCCAGCTAA", [(0, 5), (11, 12), (12, 15)])


def test_genes_with_faults_are_left_out():
    sequences, exons = random_windows(25, seed=6)
    exons[3] = [(a + 1, b + 1) for a, b in exons[3]]
    with pytest.warns(InputWarning, match=r"1 of 25 genes are left out of training \(window 3: "):
        GeneFinder(n_jobs=1, folds=2, max_iterations=3).fit(sequences, exons)
    refuses("at least 4 complete genes", GeneFinder().fit, sequences[:2], exons[:2])
    refuses("folds >= 2", GeneFinder(folds=1).fit, sequences, exons)


def test_training_windows(genome):
    text, true = genome
    shorter = Transcript("chr", "+", true[0].exons[:1], id="t0b", gene="g0")
    made = training_windows({"chr": text.encode()}, [shorter, *true], flank=50)
    assert [w.name for w in made.windows] == ["g0", "g1", "g2", "g3"]
    for window in made.windows:
        assert fault_of(window.codes, window.exons, min_intron=20, longest_intron=1000) is None
        assert window.exons[0][0] == 50
    overlap = Transcript("chr", "-", ((true[0].start + 3, true[0].start + 9),), id="x", gene="x")
    assert training_windows({"chr": text.encode()}, [*true, overlap]).overlapping == [
        ("g0", "x"),
        ("x", "g0"),
    ]
    refuses("is on 'chr', but the genome has no such contig", training_windows, {"1": b"ACGT"}, true)
    refuses("beyond the 4 bases", training_windows, {"chr": b"ACGT"}, true)


def test_plot(finder, genome, tmp_path):
    pytest.importorskip("matplotlib")
    text, true = genome
    found = finder.predict([text], both_strands=True)[0]
    figure = plot_locus(
        0, len(text), found, true=true, posterior=finder.posterior(text), title="$\\notamacro{$"
    )
    figure.savefig(tmp_path / "locus.png")
    assert (tmp_path / "locus.png").stat().st_size > 5000
