"""The papers' gene model: labels, grammar, words, training under the grammar."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import refuses
from small_genomes import is_legal, random_windows

from crfkit.apps.genes.bases import encode_bases, matches, reverse_complement, words
from crfkit.apps.genes.grammar import RefinedStates, permitted_pairs
from crfkit.apps.genes.labels import LABELS, genes_of, label_ids
from crfkit.apps.genes.seven_states import (
    SevenStateGenes,
    decode_legal,
    encode_words,
    is_permitted,
    label_strings,
    permitted,
)
from crfkit.data.labels import Labels
from crfkit.exceptions import InputError, InputWarning
from crfkit.features.edge_attributes import attribute_kinds, edge_prefixes
from crfkit.features.index import build_index
from crfkit.inference import Lattice, PermittedPairs, constrain, path_score, viterbi
from crfkit.inference.posterior import log_partition
from crfkit.objectives.linear_likelihood import LinearLikelihood


def test_bases():
    assert encode_bases("acgtUNr").tolist() == [0, 1, 2, 3, 3, 4, 4]
    assert reverse_complement(encode_bases("AACGN")).tolist() == encode_bases("NCGTT").tolist()
    refuses(r"chr1, base 3: expected DNA .* got 'E'", encode_bases, "ACE", "chr1")
    assert words(encode_bases("ACGTN"), 2).tolist() == [-1, 1, 6, 11, -1]
    assert matches(encode_bases("ATGATG"), "ATG").tolist() == [True, False, False, True, False, False]
    assert matches(encode_bases("A"), "ATG").tolist() == [False]


def test_labels():
    ids = label_ids([(2, 6), (9, 14)], 16)
    assert "".join(LABELS[i] for i in ids) == "NN0120bbb12012NN"
    assert genes_of(ids) == [[(2, 6), (9, 14)]]
    assert genes_of(label_ids([], 4)) == []
    refuses("does not fit", label_ids, [(2, 20)], 16)


@given(st.text("ACGT", min_size=1, max_size=7))
def test_permissions_are_the_rules(text):
    """The tables permit exactly the label pairs, and thus the labellings, that the written rules permit."""
    codes = encode_bases(text)
    pairs, rules = permitted_pairs(codes), []
    for t in range(1, len(text)):
        stopped = text[max(0, t - 3) : t] in ("TAA", "TAG", "TGA")
        donor, acceptor = text[t : t + 2] in ("GT", "GC"), text[max(0, t - 2) : t] == "AG"
        rules.append(
            {
                **dict.fromkeys(("NN", "01", "12", "aa", "bb", "cc"), True),
                **{"N0": text[t : t + 3] == "ATG", "20": not stopped, "2N": stopped},
                **{"2a": donor and not stopped, "0b": donor, "1c": donor},
                **dict.fromkeys(("a0", "b1", "c2"), acceptor),
            }
        )
        for a, b in itertools.product(range(7), repeat=2):
            assert pairs.tables[pairs.kinds[t], a, b] == rules[-1].get(LABELS[a] + LABELS[b], False)
    for ids in np.random.default_rng(0).integers(7, size=(50, len(text))):
        names = [LABELS[i] for i in ids]
        expected = [
            here.get(a + b, False) for (a, b), here in zip(itertools.pairwise(names), rules, strict=True)
        ]
        assert is_permitted(codes, ids) == all(expected)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_decoded_genes_are_legal(seed):
    """For any scores: start, stop, no stop inside, and none split by an intron."""
    rng = np.random.default_rng(seed)
    text = "".join(rng.choice(list("ATG"), size=400)) + "TAATTAGTTGA"
    scores = rng.normal(size=(len(text), 7)) + np.array([0.5, 0.5, 0.5, 0, 0.2, 0.2, 0.2])
    lattice = Lattice(scores, np.zeros((7, 7)), [0, len(text)])
    (ids,) = decode_legal(lattice, [encode_bases(text)])
    assert all(is_legal(text, gene, ("GT", "GC")) for gene in genes_of(ids))


def test_split_stops_are_seen():
    text = "ATGGCTTGTAAAAAAGAAGCTTAG"  # ATG GCT T|gtaaaaaag|AA: a split stop
    exons = [(0, 7), (16, 24)]
    ids = label_ids(exons, len(text))
    assert is_permitted(encode_bases(text), ids)  # the seven labels cannot see it
    wanted = Lattice(np.where(ids[:, None] == np.arange(7), 9.0, 0.0), np.zeros((7, 7)), [0, len(text)])
    (found,) = decode_legal(wanted, [encode_bases(text)])
    assert found.tolist() != ids.tolist()
    assert all(is_legal(text, gene, ("GT", "GC")) for gene in genes_of(found))


def test_refined_states_keep_every_whole_gene():
    sequences, exons = random_windows(30)
    for sequence, parts in zip(sequences, exons, strict=True):
        ids = label_ids(parts, len(sequence))
        bound = np.where(ids[:, None] == np.arange(7), 0.0, -np.inf)
        (found,) = decode_legal(Lattice(bound, np.zeros((7, 7)), [0, len(ids)]), [encode_bases(sequence)])
        assert found.tolist() == ids.tolist()
        assert is_legal(sequence, parts)


def test_partial_genes_at_the_ends():
    refined = RefinedStates()
    ids = np.array([1, 2, 0, 1, 2, 3, 3])
    bound = np.where(ids[:, None] == np.arange(7), 0.0, -np.inf)
    lattice = Lattice(bound, np.zeros((7, 7)), [0, 7])
    codes = encode_bases("CCTAANN")
    assert refined.lattice(lattice, [codes], partial=True).n_labels == 33
    (found,) = decode_legal(lattice, [codes], partial=True)
    assert found.tolist() == ids.tolist()


def test_words():
    X = encode_words(["ACGTACG", "NAC", ""], lengths=(1, 2))
    names = X.vocabulary.strings()
    assert len(names) == 20
    s = X.sequences
    assert [[names[a] for a in s.indices[s.indptr[t] : s.indptr[t + 1]]] for t in range(4)] == [
        ["w=A"],
        ["w=C", "w=AC"],
        ["w=G", "w=CG"],
        ["w=T", "w=GT"],
    ]
    assert np.diff(s.indptr)[7:].tolist() == [0, 1, 2]
    assert s.offsets.tolist() == [0, 7, 10, 10]


def test_words_around_sites():
    text = "CCATGAAAGTNAGCATAATT"
    X = encode_words([text, "GT"], lengths=(1,), sites=True, donors=("GT",))
    names, rows = X.vocabulary.strings(), X.sequences
    assert len(names) == rows.n_attributes == len(set(names))
    found = [
        [names[i] for i in rows.indices[a:b]] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
    ends = {"start": "ATG", "stop": "", "donor": "GT", "acceptor": ""}
    where = {"start": [2], "stop": [6, 18], "donor": [8, 20], "acceptor": [9, 13]}
    for t, attributes in enumerate(found):
        base = (text + "GT")[t]
        assert attributes[:1] == ([] if base == "N" else [f"w={base}"])
        here = {name.rstrip("+-0123456789=ACGT") for name in attributes if not name.startswith("w=")}
        assert here == {site for site, places in where.items() if t in places}
        sequence, at = (text, t) if t < len(text) else ("GT", t - len(text))
        for name in attributes[1:]:
            place, word = name.split("=")
            begin = at + int(place.lstrip("abcdefghijklmnopqrstuvwxyz"))
            assert begin >= 0
            assert sequence[begin : begin + len(word)] == word
        for site in here:
            assert not ends[site] or f"{site}+0={ends[site][:2]}" in attributes


# seeds with ties: other states of the same labels, and the same score
@example(0, False)
@example(4, True)
@example(12, False)
@example(59, True)
@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=20, deadline=None)
def test_scores_of_transitions_stay_those_of_the_paths(seed, partial):
    """States with folded pair scores agree with a lattice that has the pair scores themselves."""
    rng = np.random.default_rng(seed)
    text = "".join(rng.choice(list("ATGC"), p=[0.3, 0.3, 0.3, 0.1], size=60)) + "TAATTAGTTGA"
    codes, T = [encode_bases(text), encode_bases("ATG")], len(text) + 3
    scores = Lattice(rng.normal(size=(T, 7)), rng.normal(size=(T, 7, 7)), [0, T - 3, T])
    refined = RefinedStates()
    folded = refined.lattice(scores, codes, partial=partial)
    plain = refined.lattice(Lattice(scores.node, np.zeros((7, 7)), scores.offsets), codes, partial=partial)
    pairs = scores.edge[:, refined.labels][:, :, refined.labels]  # [T, S, S]
    direct = Lattice(plain.node, pairs + plain.edge, plain.offsets, plain.start, plain.end)
    np.testing.assert_allclose(log_partition(folded), log_partition(direct), rtol=1e-9)
    np.testing.assert_allclose(path_score(direct, viterbi(folded).labels), viterbi(direct).score)


def objective(permissions=None, c2=0.3, sites=False):
    sequences, exons = random_windows(3, seed=5, flank=9)
    encoded = encode_words(sequences, lengths=(2,), sites=sites)
    X = encoded.sequences
    y = Labels(np.concatenate([label_ids(e, len(s)) for s, e in zip(sequences, exons, strict=True)]), None)
    kinds = attribute_kinds(encoded.vocabulary, edge_prefixes(("start", "stop", "donor", "acceptor")))
    index = build_index(X, y, 7, all_possible_states=True, kinds=kinds if sites else None)
    pairs = permitted(sequences) if permissions else None
    return X, y, index, pairs, LinearLikelihood(X, y, index, n_threads=1, permitted=pairs).penalised(c2=c2)


@pytest.mark.parametrize("sites", [False, True])
def test_training_under_the_grammar_is_the_likelihood_over_permitted_paths(sites):
    from crfkit.potentials.linear import LinearPotential

    X, y, index, pairs, likelihood = objective(True, c2=0.0, sites=sites)
    x = np.random.default_rng(1).normal(size=likelihood.n_parameters) * 0.5
    lattice = constrain(LinearPotential(index, likelihood.weights(x)).scores(X), pairs.constraints())
    expected = (log_partition(lattice) - path_score(lattice, y.ids)).sum()
    assert likelihood(x).value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("sites", [False, True])
def test_gradient_under_the_grammar(sites):
    *_, likelihood = objective(True, sites=sites)
    rng = np.random.default_rng(0)
    x = rng.normal(size=likelihood.n_parameters) * 0.3
    gradient = likelihood(x).gradient
    for _ in range(5):
        d = rng.normal(size=len(x))
        d /= np.linalg.norm(d)
        step = 1e-2
        slope = (likelihood(x + step * d).value - likelihood(x - step * d).value) / (2 * step)
        assert slope == pytest.approx(gradient @ d, rel=2e-3, abs=2e-3)


def test_permitted_pairs_that_do_not_fit():
    X, y, index, pairs, _ = objective(True)
    with pytest.raises(InputError, match="must be for"):
        LinearLikelihood(X, y, index, n_threads=1, permitted=PermittedPairs(pairs.kinds[1:], pairs.tables))
    nothing = PermittedPairs(np.zeros_like(pairs.kinds), np.zeros((1, 7, 7), np.bool_))
    with pytest.raises(InputError, match="sequence 0, position 1: y has label 3 after 3"):
        LinearLikelihood(X, y, index, n_threads=1, permitted=nothing)
    refuses(r"kinds must be in 0\.\.15", PermittedPairs, np.array([16]), pairs.tables)
    refuses(r"booleans \[M, L, L\]", PermittedPairs, np.array([0]), np.zeros((7, 7), np.bool_))
    assert pairs.subset([1], X.offsets).kinds.tolist() == pairs.kinds[X.offsets[1] : X.offsets[2]].tolist()


@pytest.mark.parametrize("sites", [False, True])
def test_fit_and_predict(sites):
    sequences, exons = random_windows(40, seed=2)
    model = SevenStateGenes(c2=1.0, lengths=(1, 2, 3, 4, 5, 6), sites=sites, n_jobs=1, tol=1e-3)
    model.fit(sequences[:30], exons[:30])
    assert model.donors_ == ("GT",)
    found = model.predict(sequences[30:])
    assert all(is_legal(s, gene) for s, genes in zip(sequences[30:], found, strict=True) for gene in genes)
    right = sum([list(e)] == genes for e, genes in zip(exons[30:], found, strict=True))
    assert right >= 4
    p = model.predict_marginals(sequences[30:32])
    assert p[0].shape == (len(sequences[30]), 7)
    np.testing.assert_allclose(p[0].sum(axis=1), 1, atol=1e-9)


def test_genes_against_the_grammar_are_left_out():
    sequences, exons = random_windows(6, seed=3)
    shifted = [*exons[:5], [(a + 1, b + 1) for a, b in exons[5]]]
    with pytest.warns(InputWarning, match="1 of 6 genes violate the grammar .* sequence 5"):
        SevenStateGenes(n_jobs=1, max_iterations=500, tol=1e-2).fit(sequences, shifted)


def test_label_strings():
    assert label_strings([(1, 4)], 5) == list("N012N")
    assert permitted([]).kinds.size == 0
    assert permitted_pairs(encode_bases("ATG")).kinds.tolist() == [1, 0, 0]


@pytest.mark.parametrize("lengths", [(), (0,), (2.5,), (6, 6), (1, 11)])
def test_lengths_of_words_that_cannot_be(lengths):
    refuses("lengths must be", SevenStateGenes, lengths=lengths)


def test_genes_without_introns_are_not_enough():
    refuses("do not contain the labels a, b, c", SevenStateGenes().fit, ["CCATGAAATAACC"], [[(2, 11)]])
