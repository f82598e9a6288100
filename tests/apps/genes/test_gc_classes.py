"""Classes of GC content, and one Markov chain per class."""

import numpy as np
import pytest
from refusals import refuses
from small_genomes import random_windows

from crfkit.apps.genes import GeneFinder
from crfkit.apps.genes.bases import encode_bases, words
from crfkit.apps.genes.gc_classes import class_bounds, gc_classes, gc_content
from crfkit.apps.genes.labels import CODING, NON_CODING
from crfkit.apps.genes.markov import log_odds_table, look_up


def test_content_counts_known_bases_around():
    rng = np.random.default_rng(0)
    codes = encode_bases("".join(rng.choice(list("ACGTN"), 3000)))
    content = gc_content(codes)
    for t in (0, 500, 1500, 2999):
        around = codes[max(0, t - 1000) : t + 1001]
        known = around[around < 4]
        assert content[t] == pytest.approx(np.isin(known, (1, 2)).mean())
    assert gc_content(encode_bases("NNN")).tolist() == [0.5, 0.5, 0.5]


def test_classes_are_equal_parts_of_the_training_data():
    rng = np.random.default_rng(1)
    codes = [
        encode_bases("".join(rng.choice(list("ACGT"), 4000, p=p)))
        for p in ([0.4, 0.1, 0.1, 0.4], [0.1, 0.4, 0.4, 0.1], [0.25, 0.25, 0.25, 0.25])
    ]
    bounds = class_bounds(codes, 3)
    counts = np.bincount(np.concatenate([gc_classes(c, bounds) for c in codes]))
    np.testing.assert_allclose(counts, 4000, atol=60)
    assert set(gc_classes(codes[0], bounds)) == {0}
    assert set(gc_classes(codes[1], bounds)) == {2}
    assert class_bounds(codes, 1).shape == (0,)


def test_each_class_counts_its_own_words():
    rng = np.random.default_rng(2)
    codes = [encode_bases("".join(rng.choice(list("ACGT"), 600))) for _ in range(2)]
    ids = [rng.choice([*CODING, NON_CODING], 600).astype(np.int32) for _ in range(2)]
    classes = [np.zeros(600, np.intp), np.ones(600, np.intp)]
    tables = log_odds_table(codes, ids, 1, 1e-9, classes, 2)  # without a prior: plain shares
    for g in range(2):
        pairs, label = words(codes[g], 2), ids[g]
        for word in (0, 5, 14):
            odds = [
                np.log(
                    np.sum((pairs == word) & (label == of))
                    / np.sum((pairs // 4 == word // 4) & (label == of))
                )
                for of in (CODING[1], NON_CODING)
            ]
            assert tables[g, word, 1] == pytest.approx(odds[0] - odds[1], abs=1e-6)
    rows = look_up(tables, codes[1], classes[1])
    assert rows[0].tolist() == [0, 0, 0, 0]  # the word is cut off
    np.testing.assert_array_equal(rows[1:], tables[1][words(codes[1], 2)[1:]])


def test_finder_with_classes(tmp_path):
    sequences, exons = random_windows(40, seed=1)
    finder = GeneFinder(gc_classes=2, n_jobs=1).fit(sequences, exons)
    new, _ = random_windows(5, seed=3)
    found = finder.predict(new)
    assert any(found)
    finder.save(tmp_path / "two.genes")
    again = GeneFinder.load(tmp_path / "two.genes", n_jobs=1)
    assert again.gc_classes == 2
    assert again.predict(new) == found


def test_no_classes_at_all():
    refuses("gc_classes >= 1", GeneFinder(gc_classes=0).fit, *random_windows(4, seed=0))
