"""The core's sums over gene structures against enumeration of all structures."""

from itertools import pairwise

import numpy as np
import pytest
from small_genomes import reverse_complement

from crfkit import _native
from crfkit.apps.genes.bases import encode_bases

STOPS = ("TAA", "TAG", "TGA")
MIN_INTRON, LONGEST_INTRON = 4, 29
SPLIT_STOP = -1.5


def scores_of(rng, text):
    """Return random scores, with sites where their words occur."""
    T = len(text)
    sites = np.full((T + 1, 4), -np.inf)
    for t in range(T + 1):
        if text[t : t + 3] == "ATG":
            sites[t, 0] = rng.normal()
        if t >= 3 and text[t - 3 : t] in STOPS:
            sites[t, 1] = rng.normal()
        if text[t : t + 2] == "GT":
            sites[t, 2] = rng.normal() + 1
        if t >= 2 and text[t - 2 : t] == "AG":
            sites[t, 3] = rng.normal() + 1
    return rng.normal(size=(T, 4)) * 0.3, sites


def genes_from(text, begin, sites):
    """Yield all genes that begin at ``begin``: lists of exons."""

    def grow(exons, coding, start):
        """Extend by an exon from ``start``."""
        for end in range(start + 1, len(text) + 1):
            here = coding + text[start:end]
            codons = [here[i : i + 3] for i in range(0, len(here) - 2, 3)]
            if any(codon in STOPS for codon in codons[:-1]):
                return
            if codons and codons[-1] in STOPS:
                if len(here) % 3 == 0:
                    yield [*exons, (start, end)]
                return
            if end - start >= 3 and sites[end, 2] > -np.inf:
                for after in range(end + MIN_INTRON, min(end + LONGEST_INTRON, len(text) - 1) + 1):
                    if sites[after, 3] > -np.inf:
                        yield from grow([*exons, (start, end)], here, after)

    if sites[begin, 0] > -np.inf:
        yield from grow([], "", begin)


def score_of(text, exons, content, sites, exon, intron):
    total = sites[exons[0][0], 0]
    done = 0
    for i, (a, b) in enumerate(exons):
        kind = 3 if len(exons) == 1 else 0 if i == 0 else 2 if i == len(exons) - 1 else 1
        total += exon[kind, min(b - a, exon.shape[1] - 1)]
        total += sum(content[t, (done + t - a) % 3] for t in range(a, b))
        done += b - a
    for (_, a), (b, _) in pairwise(exons):
        total += sites[a, 2] + sites[b, 3] + content[a:b, 3].sum() + intron[b - a]
    a, b = exons[-1]
    return total + (sites[b, 1] if b - a >= 3 else SPLIT_STOP)


def all_genes(text, content, sites, exon, intron):
    """Return (begin, end, score, exons) of every gene of a strand."""
    return [
        (gene[0][0], gene[-1][1], score_of(text, gene, content, sites, exon, intron), gene)
        for begin in range(len(text))
        for gene in genes_from(text, begin, sites)
    ]


def sum_over(genes, T, combine):
    """Combine the scores of all structures: sets of genes that do not overlap."""
    value = np.zeros(T + 1)
    for t in range(1, T + 1):
        value[t] = combine([value[t - 1], *(value[b] + s for b, e, s, _ in genes if e == t)])
    return value[T]


def random_case(seed):
    rng = np.random.default_rng(seed)
    pieces = ["ATG", "GTA", "AG", "TAA", "TGA", "TAG", "C", "A", "G", "T", "GTCCAG", "CC", "ATGA"]
    text = "".join(rng.choice(pieces) for _ in range(18))
    exon, intron = rng.normal(size=(4, 12)), rng.normal(size=LONGEST_INTRON + 1)
    return rng, text, exon, intron


def batch_of(text, content, sites, exon, intron, back=(None, None, None), partial=-np.inf):
    offsets = np.array([0, len(text)])
    return _native.GeneBatch(
        offsets, encode_bases(text), content, sites, *back, exon, intron, MIN_INTRON, SPLIT_STOP, partial
    )


def log_sum(values):
    top = max(values)
    return top + np.log(sum(np.exp(v - top) for v in values))


def posteriors(batch, content, sites, exon, intron, other=None):
    log_z = np.empty(1)
    outs = [np.zeros_like(a) for a in (content, sites)]
    backs = [None, None] if other is None else [np.zeros_like(a) for a in other]
    lengths = [np.zeros_like(exon), np.zeros_like(intron)]
    batch.posteriors(log_z, *outs, *backs, *lengths, 1)
    return log_z[0], outs, backs, lengths


@pytest.mark.parametrize("seed", range(60))
def test_one_strand_against_enumeration(seed):
    rng, text, exon, intron = random_case(seed)
    content, sites = scores_of(rng, text)
    genes = all_genes(text, content, sites, exon, intron)
    batch = batch_of(text, content, sites, exon, intron)
    log_z, (p_content, p_sites), _, (p_exon, p_intron) = posteriors(batch, content, sites, exon, intron)
    expected = sum_over(genes, len(text), log_sum)
    assert log_z == pytest.approx(expected, abs=1e-9)
    rows, scores = batch.best(True, 1)
    best = sum_over(genes, len(text), max)
    found, gene = 0.0, []
    for _, _, kind, begin, end, _ in rows.tolist():
        if kind != 4:
            gene.append((begin, end))
        if kind in (2, 3):
            found += score_of(text, gene, content, sites, exon, intron)
            gene = []
    assert found == pytest.approx(best, abs=1e-9)
    assert ((scores >= 0) & (scores <= 1 + 1e-9)).all()
    # log Z is convex in the scores, with the posteriors as its gradient.
    step = 1e-5
    for array, p in ((content, p_content), (sites, p_sites), (exon, p_exon), (intron, p_intron)):
        d = np.where(np.isfinite(array), rng.normal(size=array.shape), 0.0)
        ends = []
        for sign in (1, -1):
            moved = [a + sign * step * d if a is array else a for a in (content, sites, exon, intron)]
            ends.append(posteriors(batch_of(text, *moved), *moved)[0])
        # exon, intron: tables shared by all; SPLIT_STOP has no gradient of its own.
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx((d * p).sum(), abs=1e-4)


def test_enumeration_has_something_to_enumerate():
    counts = []
    for seed in range(60):
        rng, text, exon, intron = random_case(seed)
        content, sites = scores_of(rng, text)
        genes = all_genes(text, content, sites, exon, intron)
        counts.append((len(genes), any(g[3][-1][1] - g[3][-1][0] < 3 for g in genes)))
    assert sum(n > 3 for n, _ in counts) > 20
    assert any(split for _, split in counts)


@pytest.mark.parametrize("seed", range(30))
def test_both_strands_against_enumeration(seed):
    rng, text, exon, intron = random_case(seed)
    content, sites = scores_of(rng, text)
    other = reverse_complement(text)
    content2, sites2 = scores_of(rng, other)
    T = len(text)
    genes = all_genes(text, content, sites, exon, intron)
    genes += [(T - e, T - b, s, g) for b, e, s, g in all_genes(other, content2, sites2, exon, intron)]
    batch = batch_of(text, content, sites, exon, intron, (encode_bases(other), content2, sites2))
    log_z = posteriors(batch, content, sites, exon, intron, (content2, sites2))[0]
    assert log_z == pytest.approx(sum_over(genes, T, log_sum), abs=1e-9)


def test_partial_genes_need_permission():
    text = "CCCTAACC"
    content = np.zeros((8, 4))
    content[:, :3] = 2.0
    sites = np.full((9, 4), -np.inf)
    sites[6, 1] = 0.0
    exon, intron = np.zeros((4, 12)), np.zeros(30)
    assert len(batch_of(text, content, sites, exon, intron).best(False, 1)[0]) == 0
    rows, _ = batch_of(text, content, sites, exon, intron, partial=-1.0).best(True, 1)
    assert (0, 6) in {(row[3], row[4]) for row in rows.tolist()}


def test_wrong_arrays_are_refused():
    text = "ATGTAA"
    content, sites = np.zeros((6, 4)), np.zeros((7, 4))
    exon, intron = np.zeros((4, 5)), np.zeros(30)
    with pytest.raises(ValueError, match="content must be"):
        batch_of(text, content[1:].copy(), sites, exon, intron)
    with pytest.raises(ValueError, match="sites must be"):
        batch_of(text, content, sites[1:].copy(), exon, intron)
    with pytest.raises(ValueError, match="exon must be"):
        batch_of(text, content, sites, exon[1:].copy(), intron)
