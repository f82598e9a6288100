"""Sums over segments between sites against enumeration of all paths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelling_checks import check_any_labellings
from segmentations import ids_of
from site_segmentations import all_paths, random_sites

from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import (
    SEGMENTATIONS,
    SITE_SEGMENTATIONS,
    Barriers,
    Entries,
    LabelledSpans,
    SegmentLattice,
    SiteLattice,
    Sites,
)

S = SITE_SEGMENTATIONS


def check_against_enumeration(x, sequence=0, tolerance=1e-9):
    found = list(all_paths(x, sequence))
    if not found:
        with pytest.raises(NoPathError, match=f"sequence {sequence}"):
            S.log_partition(x)
        return False
    scores = np.array([score for _, score in found])
    slack = tolerance * (1 + np.abs(scores).max())
    log_z = np.logaddexp.reduce(scores)
    p = np.exp(scores - log_z)
    first, stop = x.offsets[sequence : sequence + 2]
    L, T = x.n_labels, int(stop - first)
    got, counts = S.expectations(x)
    assert got[sequence] == pytest.approx(log_z, abs=slack)
    # the best, the three best, and the scores of labellings
    own = {tuple(ids_of(path, L)): score for path, score in found}
    assert len(own) == len(found)
    assert own[tuple(S.best(x)[first:stop])] == pytest.approx(scores.max(), abs=slack)
    ranked = S.nbest(x, 3)
    np.testing.assert_allclose(ranked.scores_of(sequence), np.sort(scores)[::-1][:3], atol=slack)
    for ids, score in zip(ranked.paths_of(sequence), ranked.scores_of(sequence), strict=True):
        assert own[tuple(ids)] == pytest.approx(score, abs=slack)
    # single segments: their probability, and given the site where they begin
    share = {}
    for (path, _), probability in zip(found, p, strict=True):
        for place in path:
            share[place] = share.get(place, 0.0) + probability
    places = [(b, e, y) for b in range(T) for e in range(b + 1, T + 1) for y in range(L)]
    columns = [np.array(column) for column in zip(*places, strict=True)]
    spans = LabelledSpans(np.full(len(places), sequence), *columns[:2], columns[2].astype(np.int32))
    log_p, steps = S.log_probabilities(x, spans), S.steps(x, spans)
    np.testing.assert_array_equal(steps.p, np.exp(log_p))
    np.testing.assert_allclose(np.exp(log_p), [share.get(one, 0.0) for one in places], atol=10 * slack)
    ratio = dict(zip(places, steps.given_site, strict=True))
    for path, score in found[:20]:
        product = share[path[0]] * np.prod([ratio[place] for place in path[1:]])
        assert product == pytest.approx(np.exp(score - log_z), abs=10 * slack)
    probable, shares = S.probable(x, 0.1)
    mine = probable.sequence == sequence
    listed = {tuple(map(int, one)) for one in zip(*(part[mine] for part in probable[1:]), strict=True)}
    assert {place for place, value in share.items() if value > 0.1 + 10 * slack} <= listed
    assert shares.min(initial=1) >= 0.1
    # counts of content: where each track is inside
    content = np.zeros((T, x.content.shape[1]))
    for (path, _), probability in zip(found, p, strict=True):
        for b, e, y in path:
            if x.sites.track[y] >= 0:
                content[b:e, x.sites.track[y]] += probability
    np.testing.assert_allclose(counts.content[first:stop], content, atol=10 * slack)
    if x.n_sequences == 1:
        check_counts(x, share, counts, 10 * slack)
        labellings = np.array([ids_of(path, L) for path, _ in found]).reshape(len(found), T)
        check_any_labellings(S, x, labellings, scores, slack)
    return True


def check_counts(x, share, counts, atol):
    """Check counts of entries and of lengths of one sequence, given the share of each (begin, end, label)."""
    s, K = x.sites, x.longest
    expected = {name: np.zeros(getattr(x, name).shape) for name in ("open", "close", "lengths", "tail")}
    for name, entries, end in (("open", s.opens, 0), ("close", s.closes, 1)):
        label = np.repeat(np.arange(s.n_labels), np.diff(entries.bounds))
        number = {
            one: i for i, one in enumerate(zip(s.place[entries.site].tolist(), label.tolist(), strict=True))
        }
        for place, p in share.items():
            expected[name][number[place[end], place[2]]] += p
    for (b, e, y), p in share.items():
        expected["lengths"][s.table[y], min(e - b, K) - 1] += p
        expected["tail"][s.table[y]] += p * max(0, e - b - K)
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(counts, name), values, atol=atol, err_msg=name)


@given(
    seed=st.integers(0, 10**6),
    length=st.integers(1, 6),
    labels=st.integers(1, 3),
    longest=st.integers(1, 4),
    scale=st.sampled_from([0.1, 3.0, 400.0, 1e5]),
)
def test_random_scores_of_any_size(seed, length, labels, longest, scale):
    x = random_sites(seed, [length], labels, longest=longest, scale=scale)
    check_against_enumeration(x)


def test_batches_and_threads():
    seeds = [s for s in range(60) if all(list(all_paths(random_sites(s, [5, 0, 4], 2), i)) for i in (0, 2))]
    assert len(seeds) > 10
    for seed in seeds[:12]:
        x = random_sites(seed, [5, 0, 4], 2)
        assert check_against_enumeration(x, 0)
        assert check_against_enumeration(x, 2)
        one, four = S.expectations(x, n_jobs=1), S.expectations(x, n_jobs=4)
        for a, b in zip((one[0], *one[1]), (four[0], *four[1]), strict=True):
            np.testing.assert_array_equal(a, b)


def dense_and_sparse(seed, T, L, K, *, tail, scale):
    """Return one model in both forms: every label may begin and end everywhere."""
    rng = np.random.default_rng(seed)
    first, rest, last = rng.normal(scale=scale, size=(3, T, L))
    lengths = rng.normal(scale=scale, size=(L, K))
    rate = rng.normal(scale=scale, size=L) if tail else np.full(L, -np.inf)
    broken = rng.random((T, L)) < 0.05
    broken[0] = False
    node = np.concatenate([first, np.where(broken, -np.inf, rest)], axis=1)
    dense = SegmentLattice(node, np.zeros((L, L)), lengths, [0, T], last=last, tail=rate)
    bounds = np.arange(L + 1) * T
    opens = np.tile(np.arange(T, dtype=np.int32), L)
    places = [np.flatnonzero(broken[:, y]) for y in range(L)]
    barriers = Barriers(
        np.concatenate([[0], np.cumsum([len(at) for at in places])]),
        np.concatenate(places) - 1,
        np.concatenate(places) + 1,
    )
    labels = np.arange(L, dtype=np.int32)
    sites = Sites(
        np.array([0, T]),
        np.array([0, T + 1]),
        np.arange(T + 1, dtype=np.int32),
        Entries(bounds, opens),
        Entries(bounds, opens + 1),
        labels,
        labels,
        barriers,
        labels,
    )
    # content counts at the first position as well: opening there takes it back
    sparse = SiteLattice(sites, (first - rest).T.ravel(), last.T.ravel(), rest, lengths, rate)
    return dense, sparse


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_the_dense_form_agrees(tail, scale):
    """Long sequences: windows of many blocks, barriers, and lengths far beyond the table."""
    dense, sparse = dense_and_sparse(3, 500, 3, 120 if not tail else 7, tail=tail, scale=scale)
    log_z, counts = SEGMENTATIONS.expectations(dense)
    other, own = S.expectations(sparse)
    assert other[0] == pytest.approx(log_z[0], rel=1e-11)
    T, L = 500, 3
    atol = 1e-8 * scale
    np.testing.assert_allclose(own.open.reshape(L, T).T, counts.node[:, :L], atol=atol)
    np.testing.assert_allclose(own.close.reshape(L, T).T, counts.last, atol=atol)
    np.testing.assert_allclose(own.content, counts.node[:, :L] + counts.node[:, L:], atol=atol)
    np.testing.assert_allclose(own.lengths, counts.lengths, atol=1e-6)
    np.testing.assert_allclose(own.tail, counts.tail, atol=1e-6)
    best, mine = SEGMENTATIONS.best(dense), S.best(sparse)
    np.testing.assert_array_equal(best, mine)
    assert S.labelling_score(sparse, mine)[0] == pytest.approx(SEGMENTATIONS.labelling_score(dense, best)[0])


def test_samples_have_the_probabilities_of_paths():
    x = next(x for x in (random_sites(s, [4], 2) for s in range(99)) if 8 < len(list(all_paths(x, 0))) < 40)
    found = list(all_paths(x, 0))
    scores = np.array([score for _, score in found])
    number = {tuple(ids_of(path, 2)): i for i, (path, _) in enumerate(found)}
    drawn = S.sample(x, 20000, random_state=0)
    shares = np.bincount([number[tuple(ids)] for ids in drawn], minlength=len(found)) / len(drawn)
    np.testing.assert_allclose(shares, np.exp(scores - np.logaddexp.reduce(scores)), atol=0.015)
    np.testing.assert_array_equal(drawn, S.sample(x, 20000, random_state=0))


def simple(**changes):
    """Return the fields of sites of one sequence of three positions and one label."""
    entries = Entries(np.array([0, 1]), np.array([0], np.int32))
    fields = {
        "offsets": [0, 3],
        "bounds": [0, 2],
        "place": [0, 3],
        "opens": entries,
        "closes": Entries(np.array([0, 1]), np.array([1], np.int32)),
        "track": [0],
        "table": [0],
    }
    return {**fields, **changes}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"place": [0, 2]}, "sites of sequence 0 must ascend from 0 to its length, 3"),
        ({"place": [1, 3]}, "must ascend from 0"),
        ({"bounds": [0, 3]}, "bounds must be 2 numbers that ascend from 0 to 2"),
        ({"opens": Entries([0, 1], [2])}, "opens: label 0 of sequence 0 has site 2; expected .* 0..1"),
        ({"opens": Entries([0, 2], [1, 0])}, "each at a later place"),
        ({"closes": Entries([0], [1])}, "closes.bounds must be 2 numbers"),
        ({"table": [0, 1]}, "one entry per label"),
        ({"barriers": Barriers([0, 2], [1, 0], [2, 2])}, "both of them ascending"),
        ({"barrier_set": [0]}, "barrier_set must be -1 or one of 0 sets"),
    ],
)
def test_wrong_sites_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        Sites(**simple(**change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"open": [0.0, 0.0]}, r"open must have shape \(1,\)"),
        ({"content": np.zeros((2, 1))}, r"content must have shape \[3, 1\]"),
        ({"content": np.full((3, 1), -np.inf)}, "content scores must be finite.* barrier"),
        ({"lengths": np.zeros((1, 0))}, r"lengths must have shape \[1, K\]"),
        ({"tail": np.full(1, np.nan)}, "tail scores must be finite"),
        ({"close": [1e10]}, "at most 1e.09"),
    ],
)
def test_wrong_scores_are_refused(change, words):
    scores = {
        "sites": Sites(**simple()),
        "open": [0.0],
        "close": [0.0],
        "content": np.zeros((3, 1)),
        "lengths": np.zeros((1, 3)),
        "tail": [-np.inf],
    }
    assert S.log_partition(SiteLattice(**scores))[0] == 0
    with pytest.raises(InputError, match=words):
        SiteLattice(**{**scores, **change})


def test_barriers_that_leave_nothing_are_named():
    barriers = Barriers([0, 1], [1], [3])  # no segment has the positions 1 and 2
    x = SiteLattice(
        Sites(**simple(barriers=barriers, barrier_set=[0])),
        [0.0],
        [0.0],
        np.zeros((3, 1)),
        np.zeros((1, 3)),
        [0],
    )
    with pytest.raises(NoPathError, match="reach its position 0 and no further"):
        S.best(x)
