"""Files of gene finders that are damaged, with valid checksums."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from model_files import rewritten
from refusals import unreadable

from crfkit.apps.genes import GeneFinder

PATH = Path(__file__).parents[2] / "models" / "written_before" / "genes.crfkit.gz"
CONTENT = gzip.decompress(PATH.read_bytes())


def with_nan(array):
    array = np.array(array)
    array.flat[-1] = np.nan
    return array


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("chains", 50_000_000, "'chains' must be a whole number from 1 to 16, got 50000000"),
        ("chains", 0, "'chains' must be"),
        ("chains", "2", "'chains' must be .* got '2'"),
        ("chains", 1, "expected an array 'weights'"),
        ("donors", ["GT", ["GC"]], "'donors' must be some of GT, GC"),
        ("donors", "GT", "'donors' must be"),
        ("genes", None, "'genes' must be"),
        ("c2", "0.1", "'c2' must be a number"),
        ("objective", True, "'objective' must be a number"),
        ("weights", with_nan, "'weights' holds numbers that are not finite"),
        ("weights", lambda w: w[:-1], "expected an array 'weights'"),
        ("weights", lambda w: w * 1e9, "'weights' holds numbers above 10000"),
        ("chain.0", with_nan, "'chain.0' holds numbers that are not finite"),
        ("chain.1", lambda table: table[:, :1000], "a table of words has 1000 rows"),
        ("chain.1", lambda table: table[:, :512], "a table of words has 512 rows"),
        ("site.donor", lambda table: table[1:], "expected an array 'site.donor'"),
        ("branch.distance", lambda row: np.zeros(100_000), "expected an array 'branch.distance'"),
        ("stretches", lambda table: table[:0], "'stretches' is empty"),
        ("length.intron", lambda row: row[:0], "'length.intron' is empty"),
        ("length.exon", lambda rows: rows.astype(np.float32), "expected an array 'length.exon'"),
        ("gc.bounds", None, "expected an array 'gc.bounds'"),
    ],
)
def test_damage_is_refused(key, value, message):
    """Sizes were believed (50,000,000 chains took 5.8 GB) and NaN passed silently."""
    unreadable(message, GeneFinder.load, rewritten(CONTENT, {key: value}))


def test_bounds_must_ascend():
    def classes(table):
        return np.concatenate([table] * 3)

    three = {"chain.0": classes, "chain.1": classes}
    finder = GeneFinder.load(rewritten(CONTENT, {**three, "gc.bounds": np.array([0.3, 0.5])}), n_jobs=1)
    assert finder.gc_classes == 3
    finder.predict(["ACGT" * 50])
    unreadable("does not ascend", GeneFinder.load, rewritten(CONTENT, {"gc.bounds": np.array([0.5, 0.3])}))
