"""Gene structures as segments between sites, against enumeration of all structures."""

from itertools import pairwise

import numpy as np
import pytest
from small_genomes import is_legal, reverse_complement

from crfkit.apps.genes.bases import encode_bases
from crfkit.apps.genes.gene_sites import gene_labelling, gene_labels, gene_sites
from crfkit.apps.genes.search import best_genes
from crfkit.apps.genes.signals import SITES
from crfkit.apps.genes.structure_scores import length_scores
from crfkit.inference import SITE_SEGMENTATIONS, SiteLattice

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
    """Return the combined scores of all structures (sets of genes that do not overlap) of 0 .. t-1 [T+1]."""
    value = np.zeros(T + 1)
    for t in range(1, T + 1):
        value[t] = combine([value[t - 1], *(value[b] + s for b, e, s, _ in genes if e == t)])
    return value


def probabilities(genes, T):
    """Return log Z and the probability of each gene."""
    before = sum_over(genes, T, np.logaddexp.reduce)
    after = sum_over([(T - e, T - b, s, g) for b, e, s, g in genes], T, np.logaddexp.reduce)
    return before[T], [np.exp(before[b] + s + after[T - e] - before[T]) for b, e, s, _ in genes]


def random_case(seed):
    rng = np.random.default_rng(seed)
    pieces = ["ATG", "GTA", "AG", "TAA", "TGA", "TAG", "C", "A", "G", "T", "GTCCAG", "CC", "ATGA"]
    text = "".join(rng.choice(pieces) for _ in range(18))
    exon, intron = rng.normal(size=(4, 12)), rng.normal(size=LONGEST_INTRON + 1)
    return rng, text, exon, intron


def lattice_of(strands, exon, intron, partial=-np.inf):
    """Return the scores of all structures; strands: (text, content, sites), the second in its direction."""
    found, source, contents = [], [0.0, SPLIT_STOP, partial], []
    for k, (text, content, sites) in enumerate(strands):
        places = {site: np.flatnonzero(sites[:, j] > -np.inf) for j, site in enumerate(SITES)}
        found.append([(encode_bases(text), places)])
        source += [score for j, site in enumerate(SITES) for score in sites[places[site], j]]
        frames = [[row[(t - f) % 3] for f in range(3)] + [row[3]] for t, row in enumerate(content)]
        contents.append(np.array(frames).reshape(-1, 4)[:: -1 if k else 1])
    where, source = gene_sites(found, partial=partial > -np.inf), np.array(source)
    opens, closes = source[where.open_source], source[where.close_source]
    lengths = length_scores(exon, intron, MIN_INTRON)
    return where, SiteLattice(where.sites, opens, closes, np.concatenate(contents, axis=1), *lengths)


@pytest.mark.parametrize("seed", range(60))
def test_one_strand_against_enumeration(seed):
    rng, text, exon, intron = random_case(seed)
    content, sites = scores_of(rng, text)
    T = len(text)
    genes = all_genes(text, content, sites, exon, intron)
    where, x = lattice_of([(text, content, sites)], exon, intron)
    log_z, p = probabilities(genes, T)
    found, counts = SITE_SEGMENTATIONS.expectations(x)
    assert found[0] == pytest.approx(log_z, abs=1e-9)
    inside = np.zeros((T, 2))  # in an exon, in an intron
    for (*_, gene), share in zip(genes, p, strict=True):
        for a, b in gene:
            inside[a:b, 0] += share
        for (_, a), (b, _) in pairwise(gene):
            inside[a:b, 1] += share
    np.testing.assert_allclose(counts.content[:, :3].sum(axis=1), inside[:, 0], atol=1e-9)
    np.testing.assert_allclose(counts.content[:, 3], inside[:, 1], atol=1e-9)
    # the best structure; a gene's score is its probability, an exon's that of all genes with it in its frame
    best = [list(gene.exons) for _, gene in best_genes(x, gene_labels(1))]
    total = sum(score_of(text, gene, content, sites, exon, intron) for gene in best)
    assert total == pytest.approx(sum_over(genes, T, max)[T], abs=1e-9)
    for _, gene in best_genes(x, gene_labels(1)):
        assert is_legal(text, list(gene.exons))
        assert gene.score == pytest.approx(p[[g for *_, g in genes].index(list(gene.exons))], abs=1e-9)
        done = 0
        for (a, b), score in zip(gene.exons, gene.exon_scores, strict=True):
            with_it = (share for (*_, g), share in zip(genes, p, strict=True) if has_exon(g, a, b, done))
            assert score == pytest.approx(sum(with_it), abs=1e-9)
            done += b - a
    # a gene's labelling has its score
    for _, _, score, gene in genes[:5]:
        if gene[-1][1] - gene[-1][0] >= 3:
            ids = gene_labelling(where, [encode_bases(text)], [gene])
            assert SITE_SEGMENTATIONS.labelling_score(x, ids)[0] == pytest.approx(score, abs=1e-9)


def has_exon(gene, a, b, done):
    """Return whether a gene has the exon a..b, read in the frame of one after ``done`` bases."""
    before = 0
    for begin, end in gene:
        if (begin, end) == (a, b) and (before - done) % 3 == 0:
            return True
        before += end - begin
    return False


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
    _, x = lattice_of([(text, content, sites), (other, content2, sites2)], exon, intron)
    log_z, p = probabilities(genes, T)
    assert SITE_SEGMENTATIONS.log_partition(x)[0] == pytest.approx(log_z, abs=1e-9)
    places = [(b, e, g) for b, e, _, g in genes]
    for _, gene in best_genes(x, gene_labels(2)):
        exons = list(gene.exons)
        if gene.strand == "-":
            exons = [(T - b, T - a) for a, b in reversed(exons)]
        assert gene.score == pytest.approx(p[places.index((gene.start, gene.end, exons))], abs=1e-9)


def test_partial_genes_need_permission():
    text = "CCCTAACC"
    content = np.zeros((8, 4))
    content[:, :3] = 2.0
    sites = np.full((9, 4), -np.inf)
    sites[6, 1] = 0.0
    exon, intron = np.zeros((4, 12)), np.zeros(30)

    def found(**how):
        _, x = lattice_of([(text, content, sites)], exon, intron, **how)
        return [(gene.exons, gene.complete) for _, gene in best_genes(x, gene_labels(1))]

    assert found() == []
    # it has its stop codon, but no start
    assert found(partial=-1.0) == [(((0, 6),), (False, True))]
