"""The order of sentences, against uncertainties made by hand."""

import numpy as np
import pytest

from crfkit.annotate.pool import SAMPLED, Pool
from crfkit.exceptions import InputError

LENGTHS = np.array([10, 1, 4, 2, 8, 3, 6, 5, 7, 9] * 3)
UNCERTAINTY = np.random.default_rng(1).random(30)


def taken(pool, n):
    """Take n sentences; return them, and those of the random sample."""
    found, sampled = [], []
    for _ in range(n):
        choice = pool.next()
        pool.take(choice.sentence)
        (sampled if choice.sampled else found).append(choice.sentence)
    return found, sampled


@pytest.mark.parametrize(
    ("order", "rank"), [("total", UNCERTAINTY), ("token", UNCERTAINTY / LENGTHS)], ids=["total", "token"]
)
def test_least_sure_first(order, rank):
    pool = Pool(LENGTHS, order, seed=3)
    pool.uncertainty[:] = UNCERTAINTY
    found, sampled = taken(pool, 30)
    assert sorted(found + sampled) == list(range(30))
    assert found == sorted(found, key=lambda i: -rank[i])


def test_every_tenth_is_random_and_set_aside_before():
    pool = Pool(LENGTHS, "total", seed=3)
    pool.uncertainty[:] = UNCERTAINTY
    choices = []
    while (choice := pool.next()) is not None:
        choices.append(choice)
        pool.take(choice.sentence)
    assert [k for k, choice in enumerate(choices) if choice.sampled] == [9, 19, 29]
    other = Pool(LENGTHS, "token", seed=3)
    other.uncertainty[:] = -UNCERTAINTY
    assert taken(other, 30)[1] == [choice.sentence for choice in choices if choice.sampled]


def test_the_sample_is_like_the_data():
    """Sentences that are chosen for their uncertainty do not make the sample easier than the data."""
    means = []
    for seed in range(200):
        pool = Pool(np.full(100, 5), "total", seed)
        pool.uncertainty[:] = np.arange(100)
        means.append(np.mean(taken(pool, 90)[1]))
    assert abs(np.mean(means) - 49.5) < 4 * np.std(means) / np.sqrt(len(means))


def test_random_order_without_a_model():
    """As long as nothing is known of a sentence, chance decides, by the same seed in the same way."""
    pool, again, other = (Pool(LENGTHS, "total", seed) for seed in (3, 3, 4))
    first = taken(pool, 30)
    assert first == taken(again, 30)
    assert first != taken(other, 30)
    assert first == taken(Pool(LENGTHS, "random", 3), 30)


def test_undo_gives_back():
    pool = Pool(LENGTHS, "total", seed=3)
    pool.uncertainty[:] = UNCERTAINTY
    first = pool.next()
    pool.take(first.sentence)
    assert pool.next() != first
    pool.give_back(first.sentence)
    pool.give_back(first.sentence)
    assert pool.next() == first
    assert pool.n_taken == 0


def test_a_change_of_order():
    pool = Pool(LENGTHS, "total", seed=3)
    pool.uncertainty[:] = UNCERTAINTY
    total = pool.next()
    pool.order = "token"
    token = pool.next()
    assert total != token
    with pytest.raises(InputError, match="order must be one of total, token, random, got 'best'"):
        pool.order = "best"


def test_only_part_of_a_large_pool_is_scored():
    pool = Pool(np.full(1000, 7), "total")
    pool.take(int(pool.next().sentence))
    rng = np.random.default_rng(0)
    some = pool.to_score(700, rng)
    assert len(some) == 100
    assert pool.open[some].all()
    assert len(pool.to_score(7000, rng)) == 1000 - 1000 // SAMPLED - 1
    assert len(pool.to_score(1, rng)) == 1


def test_empty_sentences_are_never_shown():
    pool = Pool(np.array([0, 3, 0]))
    assert taken(pool, 1) in (([1], []), ([], [1]))
    assert pool.next() is None
