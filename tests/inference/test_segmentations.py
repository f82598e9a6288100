"""Sums over segmentations against enumeration: every table, forbidden parts, scores of any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelling_checks import check_any_labellings
from segmentations import all_segmentations, counts_of, ids_of, random_scores, score

from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import SEGMENTATIONS, LabelledSpans, SegmentLattice, Spans
from crfkit.inference.segment_answers import ids_of as ids_of_segments
from crfkit.inference.segment_answers import segments_of

S = SEGMENTATIONS


def enumerated(x, sequence):
    length = int(np.diff(x.offsets)[sequence])
    found = list(all_segmentations(length, x.n_labels))
    return found, np.array([score(x, sequence, one) for one in found])


def check_against_enumeration(x, sequence=0, tolerance=1e-9):
    found, scores = enumerated(x, sequence)
    if scores.max() == -np.inf:
        with pytest.raises(NoPathError, match=f"sequence {sequence}"):
            S.log_partition(x)
        return
    log_z = np.logaddexp.reduce(scores)
    p = np.exp(scores - log_z)
    slack = tolerance * (1 + np.abs(scores[np.isfinite(scores)]).max())
    got, counts = S.expectations(x)
    assert got[sequence] == pytest.approx(log_z, abs=slack)
    assert S.log_partition(x)[sequence] == pytest.approx(log_z, abs=slack)
    # the best, and the three best
    best = S.best(x)[x.offsets[sequence] : x.offsets[sequence + 1]]
    at = next(i for i, one in enumerate(found) if np.array_equal(ids_of(one, x.n_labels), best))
    assert scores[at] == pytest.approx(scores.max(), abs=slack)
    ranked = S.nbest(x, 3)
    top = np.sort(scores[scores > -np.inf])[::-1][:3]
    np.testing.assert_allclose(ranked.scores_of(sequence), top, atol=slack)
    # single segments
    L, base = x.n_labels, int(x.offsets[sequence])
    length = int(np.diff(x.offsets)[sequence])
    places = [(b, e, y) for b in range(length) for e in range(b + 1, length + 1) for y in range(L)]
    share = dict.fromkeys(places, 0.0)
    for one, probability in zip(found, p, strict=True):
        for place in one:
            share[place] += probability
    columns = [np.array(column) for column in zip(*places, strict=True)]
    own = np.full(len(places), sequence)
    log_p = S.log_probabilities(x, LabelledSpans(own, *columns[:2], columns[2].astype(np.int32)))
    np.testing.assert_allclose(np.exp(log_p), list(share.values()), atol=10 * slack)
    probable, shares = S.probable(x, 0.1)
    mine = probable.sequence == sequence
    listed = {
        (int(b), int(e), int(y)) for b, e, y in zip(*(part[mine] for part in probable[1:]), strict=True)
    }
    sure = {place for place, value in share.items() if value > 0.1 + 10 * slack}
    assert sure <= listed <= {place for place, value in share.items() if value > 0.1 - 10 * slack}
    for place, value in zip(
        zip(*(part[mine] for part in probable[1:]), strict=True), shares[mine], strict=True
    ):
        assert value == pytest.approx(share[tuple(map(int, place))], abs=10 * slack)
    every = counts_of(x, sequence, found, p)
    np.testing.assert_allclose(
        counts.node[base : base + length], every["node"][base : base + length], atol=10 * slack
    )
    if x.n_sequences == 1:
        for name, expected in every.items():
            np.testing.assert_allclose(getattr(counts, name), expected, atol=10 * slack, err_msg=name)
        check_any_labellings(S, x, np.array([ids_of(one, L) for one in found]), scores, slack)


@pytest.mark.parametrize("seed", range(12))
def test_every_table_against_enumeration(seed):
    longest = 1 + seed % 5
    x = random_scores(seed, [5, 0, 3], 2, longest, scale=(1, 5)[seed % 2], parts=seed % 3 > 0)
    for sequence in (0, 2):
        check_against_enumeration(x, sequence)


@given(
    seed=st.integers(0, 10**6),
    length=st.integers(1, 5),
    labels=st.integers(1, 3),
    longest=st.integers(1, 6),
    forbidden=st.sampled_from([0.0, 0.2, 0.5]),
    scale=st.sampled_from([0.1, 3.0, 400.0, 1e5]),
    parts=st.booleans(),
)
def test_random_scores_of_any_size(seed, length, labels, longest, forbidden, scale, parts):
    x = random_scores(seed, [length], labels, longest, scale=scale, forbidden=forbidden, parts=parts)
    check_against_enumeration(x)


@pytest.mark.parametrize(("T", "K"), [(200, 100), (400, 300)])
def test_counts_are_the_gradient_beyond_one_block(T, K):
    """Up to 256 lengths are states; more are sums over windows, which hold 64 places per block."""
    rng = np.random.default_rng(0)
    L = 2
    node, lengths = rng.normal(scale=30, size=(T, 2 * L)), rng.normal(scale=40, size=(L, K))
    tail, last = rng.normal(size=L), rng.normal(size=(T, L))
    x = SegmentLattice(node, rng.normal(size=(L, L)), lengths, [0, T], last=last, tail=tail)
    _, counts = S.expectations(x)
    for name in ("node", "edge", "lengths", "last", "tail"):
        table, slopes = getattr(x, name), getattr(counts, name)
        for place in [tuple(rng.integers(table.shape)) for _ in range(12)]:
            sides = []
            for step in (1e-4, -1e-4):
                moved = table.copy()
                moved[place] += step
                sides.append(S.log_partition(x.changed(**{name: moved}))[0])
            slope = (sides[0] - sides[1]) / 2e-4
            assert slopes[place] == pytest.approx(slope, abs=1e-5), (name, place)
    assert counts.node.sum() == pytest.approx(T)
    assert counts.lengths.sum() == pytest.approx(counts.node[:, :L].sum())


def with_more_lengths(x, K):
    """Return the same scores with a table of K lengths, the new ones forbidden."""
    return x.changed(lengths=np.pad(x.lengths, ((0, 0), (0, K - x.longest)), constant_values=-np.inf))


@pytest.mark.parametrize("labels", [1, 3, 20, 70])
def test_states_and_windows_give_the_same(labels):
    """Few lengths are states; the same scores with a long table of lengths go through windows."""
    rng = np.random.default_rng(labels)
    x = random_scores(labels, [270, 300], labels, 4, scale=2, forbidden=0.02, parts=True)
    x = x.changed(tail=None, start=rng.normal(size=labels), end=rng.normal(size=labels))
    weights = np.array([0.5, 3.0])
    log_z, counts = S.expectations(x, weights=weights)
    other_log_z, others = S.expectations(with_more_lengths(x, 260), weights=weights)
    np.testing.assert_allclose(log_z, other_log_z, rtol=1e-12)
    for name, mine, other in zip(counts._fields, counts, others, strict=True):
        if mine is not None:
            other = other[:, : x.longest] if name == "lengths" else other
            np.testing.assert_allclose(mine, other, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("lead", [300.0, 800.0, 2000.0])
def test_a_path_that_is_poor_at_both_ends_is_not_lost(lead):
    """The second label loses `lead` at either end, and wins it back in between, one by one."""
    T = 3000
    node = np.zeros((T, 4))
    node[:, [1, 3]] = 1.0
    node[[0, -1]] += [lead, 0, lead, 0]
    x = SegmentLattice(node, np.full((2, 2), -np.inf), np.zeros((2, 2)), [0, T], tail=np.zeros(2))
    log_z, counts = S.expectations(x)
    expected = np.logaddexp(2 * lead, T)  # one segment of either label
    assert log_z[0] == pytest.approx(expected, rel=1e-12)
    p = np.exp([2 * lead - expected, T - expected])
    np.testing.assert_allclose(counts.node[0, :2], p, atol=1e-9)
    np.testing.assert_allclose(counts.node[1:, 2:], np.tile(p, (T - 1, 1)), atol=1e-9)
    np.testing.assert_allclose(counts.tail, p * (T - 2), rtol=1e-9, atol=1e-9)


def forward_by_definition(x):
    """Return log Z of one sequence by the recursion, in log space, place by place."""
    T, L, K = x.n_positions, x.n_labels, x.longest
    F = np.full((T + 1, L), -np.inf)
    running = np.vstack([np.zeros(L), np.cumsum(x.node[:, L:], axis=0)])
    for e in range(1, T + 1):
        for y in range(L):
            terms = []
            for b in range(max(0, e - K), e):
                before = 0.0 if b == 0 else np.logaddexp.reduce(F[b] + x.edge[:, y])
                inside = running[e, y] - running[b + 1, y]
                terms.append(before + x.node[b, y] + inside + x.lengths[y, e - b - 1])
            F[e, y] = np.logaddexp.reduce(terms)
    return np.logaddexp.reduce(F[T])


@pytest.mark.parametrize("drift", [-50.0, 0.0, 50.0])
def test_windows_move_on_and_scales_change(drift):
    """Long sequences with rising and falling scores: blocks are rescaled, the buffer moves on."""
    rng = np.random.default_rng(1)
    T, L, K = 400, 2, 30
    node = rng.normal(scale=20, size=(T, 2 * L)) + drift
    x = SegmentLattice(node, rng.normal(size=(L, L)), rng.normal(scale=200, size=(L, K)), [0, T])
    assert S.log_partition(x)[0] == pytest.approx(forward_by_definition(x), rel=1e-12)
    long = SegmentLattice(np.tile(node, (50, 1)), x.edge, x.lengths, [0, 50 * T])
    _, counts = S.expectations(long)
    np.testing.assert_allclose(counts.node.sum(axis=1), 1, atol=1e-6)  # of sums of 10⁶
    assert S.labelling_score(long, S.best(long))[0] <= S.log_partition(long)[0]


def test_samples_have_the_probabilities_of_segmentations():
    x = random_scores(3, [4], 2, 3)
    found, scores = enumerated(x, 0)
    p = np.exp(scores - np.logaddexp.reduce(scores))
    drawn = S.sample(x, 20000, random_state=0)
    counted = {tuple(ids_of(one, 2)): i for i, one in enumerate(found)}
    shares = np.bincount([counted[tuple(ids)] for ids in drawn], minlength=len(found)) / len(drawn)
    np.testing.assert_allclose(shares, p, atol=0.015)
    np.testing.assert_array_equal(drawn, S.sample(x, 20000, random_state=0))


def test_threads_give_the_same_bits():
    x = random_scores(5, [7, 30, 2, 19] * 8, 3, 6)
    one, four = S.expectations(x, n_jobs=1), S.expectations(x, n_jobs=4)
    np.testing.assert_array_equal(one[0], four[0])
    for a, b in zip(one[1], four[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_labellings_and_segments_are_the_same():
    ids = np.array([0, 2, 1, 1, 3, 0, 1], np.int32)  # labels 0 and 1; 2 and 3 where they go on
    offsets = np.array([0, 3, 3, 7])
    found, legal = segments_of(ids, offsets, 2)
    assert legal.all()
    assert [tuple(map(int, one)) for one in zip(*found, strict=True)] == [
        (0, 0, 2, 0),
        (0, 2, 3, 1),
        (2, 0, 2, 1),
        (2, 2, 3, 0),
        (2, 3, 4, 1),
    ]
    np.testing.assert_array_equal(ids_of_segments(found, offsets, 2), ids)
    for wrong in ([2, 2, 1, 1, 3, 0, 1], [0, 3, 1, 1, 3, 0, 1]):
        assert not segments_of(np.array(wrong, np.int32), offsets, 2)[1][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edge": np.zeros((2, 3))}, r"edge must have shape \[L, L\]"),
        ({"node": np.zeros((5, 3))}, r"node must have shape \[ΣT, 4\]"),
        ({"lengths": np.zeros((2, 0))}, "at least one length"),
        ({"lengths": np.zeros((1, 3))}, r"lengths must have shape \[2, K\]"),
        ({"tail": np.zeros(3)}, r"tail must have shape \(2,\)"),
        ({"last": np.zeros((4, 2))}, r"last must have shape \(5, 2\)"),
        ({"node": np.full((5, 4), np.nan)}, "node scores must be finite.*position 0"),
        ({"lengths": np.full((2, 3), 1e10)}, "at most 1e.09.* label 0, place 0"),
        ({"spans": Spans([0], [1], [3]), "span": np.array([[0, 1e10]])}, r"got 1e\+10 span 0, label 1"),
        ({"span": np.zeros((1, 2))}, "given together"),
        ({"spans": Spans([0], [0], [4]), "span": np.zeros((1, 2))}, "4 positions, but lengths .* up to 3"),
        ({"spans": Spans([0], [3], [6]), "span": np.zeros((1, 2))}, "from 3 to 6, but sequence 0 has 5"),
        ({"spans": Spans([0, 0], [2, 1], [3, 3]), "span": np.zeros((2, 2))}, "sorted"),
        ({"spans": Spans([0, 0], [2, 2], [3, 3]), "span": np.zeros((2, 2))}, "the same"),
        ({"spans": Spans([1], [2], [3]), "span": np.zeros((1, 2))}, r"sequences 0\.\.0"),
    ],
)
def test_wrong_scores_are_refused(change, words):
    tables = {
        "node": np.zeros((5, 4)),
        "edge": np.zeros((2, 2)),
        "lengths": np.zeros((2, 3)),
        "offsets": [0, 5],
    }
    with pytest.raises(InputError, match=words):
        SegmentLattice(**{**tables, **change})


def test_breaks_and_lengths_that_leave_nothing_are_named():
    node = np.zeros((4, 2))
    node[2] = -np.inf  # no segment begins at 2, and none goes on
    x = SegmentLattice(node, [[0.0]], [[0.0, 0.0]], [0, 4])
    with pytest.raises(NoPathError, match="reach its position 2 and no further"):
        S.best(x)


@pytest.mark.parametrize("labels", [1, 2])
def test_the_best_of_many_equal_ones_are_found_without_all_of_them(labels):
    """Exponentially many segmentations have the same score, and a step has thousands of segments to try."""
    T = 400
    tied = SegmentLattice(np.zeros((T, 2 * labels)), np.zeros((labels,) * 2), np.zeros((labels, 300)), [0, T])
    found = SEGMENTATIONS.nbest(tied, 20)
    assert found.scores.tolist() == [0.0] * 20
    assert len({tuple(row) for row in found.labels.reshape(20, T).tolist()}) == 20
    rng = np.random.default_rng(0)
    steep = tied.changed(node=rng.normal(size=tied.node.shape) + 3 * (np.arange(2 * labels) < labels))
    first = SEGMENTATIONS.nbest(steep, 3).labels.reshape(3, T)[0]
    assert first.tolist() == SEGMENTATIONS.best(steep).tolist()


@pytest.mark.parametrize("ids", [[0, 2], [0, 9, 0], [-1, 0, 0], [0.0, 0.0, 0.0]])
def test_wrong_labellings_are_refused(ids):
    x = SegmentLattice(np.zeros((3, 4)), np.zeros((2, 2)), np.zeros((2, 2)), [0, 3])
    for function in (SEGMENTATIONS.labelling_score, SEGMENTATIONS.labelling_counts):
        with pytest.raises(InputError, match=r"a labelling must have 3 whole numbers, 0\.\.3"):
            function(x, np.array(ids))


def test_wrong_questions_are_refused():
    x = SegmentLattice(np.zeros((3, 4)), np.zeros((2, 2)), np.zeros((2, 2)), [0, 3])
    for least in (0, 1.5, np.nan, "a", None):
        with pytest.raises(InputError, match="least must be a probability above 0"):
            SEGMENTATIONS.probable(x, least)
    for segments in (([0], [0], [1, 2], [0]), ([0], [0], [1.5], [0])):
        with pytest.raises(
            InputError, match="segments need a sequence, begin, end and label each, as vectors"
        ):
            SEGMENTATIONS.log_probabilities(x, LabelledSpans(*map(np.array, segments)))


def test_errors_do_not_add_up_over_a_long_sequence():
    """In its middle, a sequence of 300,000 positions has the marginals of a part of it."""
    T, L, part = 300_000, 3, slice(140_000, 160_000)
    rng = np.random.default_rng(0)
    node, edge, lengths = rng.normal(size=(T, 2 * L)) + 4, rng.normal(size=(L, L)), rng.normal(size=(L, 400))
    whole, middle = (
        SEGMENTATIONS.expectations(SegmentLattice(some, edge, lengths, [0, len(some)]))[1].node
        for some in (node, node[part])
    )
    inner = slice(9_000, 11_000)
    np.testing.assert_allclose(whole[part][inner], middle[inner], atol=3e-7)
