"""The likelihood on a cluster against the one in memory: vocabulary, features, value and gradient."""

from functools import partial

import dask
import dask.bag as db
import numpy as np
import pandas as pd
import pytest
from cluster_data import bag_of, given, items, sentences, with_gaps
from refusals import refuses

from crfkit import CRF, ConstrainedCRF, tag_partition
from crfkit.distributed import from_files
from crfkit.features import Features, column, token_features
from crfkit.models.linear.source import open_source

SETTINGS = {
    "plain": {},
    "order 2": {"order": 2},
    "frequent": {"min_freq": 4},
    "frequent, with gaps": {"min_freq": 4, "edge_attributes": "e:"},
    "everything": {"all_possible_states": True, "all_possible_transitions": True, "edge_attributes": "e:"},
    "balanced": {"class_weight": "balanced", "edge_attributes": {"e:": "both"}},
    "scales": {"c2": 0.3, "penalty_groups": {"w": 2.0, "length": 0.5}},
}


@pytest.mark.parametrize("how", SETTINGS)
def test_the_same_function(how, client):
    X, y = sentences(40)
    X = items(X)
    if "gaps" in how:
        y = with_gaps(y)
        y[:7] = [[None] * len(labels) for labels in y[:7]]  # a partition without a label
    crf = CRF(**SETTINGS[how])
    here = open_source(crf, given(X, y))
    random = np.random.default_rng(1)
    for n in (1, 2, 8) if how == "plain" else (6,):
        there = open_source(crf, given(bag_of(X, y, n)))
        assert there.classes == here.classes
        assert there.encoder.vocabulary.strings() == here.encoder.vocabulary.strings()
        for name in ("state_indptr", "state_labels", "edges", "ngrams", "pair_indptr", "pair_ids"):
            np.testing.assert_array_equal(getattr(there.index, name), getattr(here.index, name))
        np.testing.assert_array_equal(there.offsets, here.offsets)
        np.testing.assert_array_equal(there.class_weights, here.class_weights)
        some, labels = there.some(np.array([0, 7, 38]))
        expected, known = here.some(np.array([0, 7, 38]))
        np.testing.assert_array_equal(some.indices, expected.indices)
        np.testing.assert_array_equal(labels.permitted(6), known.permitted(6))
        length = int(there.encoder.vocabulary.lookup(["length"])[0])
        assert there.value_range(length) == here.value_range(length)
        for _ in range(10 if (how, n) == ("plain", 2) else 2):
            w = there.function.weights(random.normal(size=there.function.n_parameters))
            one = there.function(there.function.parameters(w))
            other = here.function(here.function.parameters(w))
            assert one.value == pytest.approx(other.value, rel=1e-6)
            gradient = here.function.weights(other.gradient)
            found = there.function.weights(one.gradient)
            np.testing.assert_allclose(found, gradient, atol=1e-5 * np.abs(gradient).max())
        one, other = (f.curvature(f.parameters(w)) for f in (there.function, here.function))
        n_edges = sum(there.index.sizes[:2])  # those of transitions are estimated
        np.testing.assert_allclose(one[n_edges:], other[n_edges:], atol=1e-5 * other.max())
        np.testing.assert_allclose(one, other, atol=0.1 * other.max())


def test_every_collection(client, tmp_path):
    X, y = sentences(60)
    crf = CRF(extractor=token_features)
    here = open_source(crf, given(X, y))
    w = np.random.default_rng(2).normal(size=sum(here.index.sizes))
    w *= here.function.parameter_of() >= 0
    value = here.function(here.function.parameters(w)).value
    for k in range(3):
        some = zip(X[20 * k : 20 * k + 20], y[20 * k : 20 * k + 20], strict=True)
        rows = ["\n".join(map(" ".join, zip(*pair, strict=True))) for pair in some]
        (tmp_path / f"part-{k}.txt").write_text("\n\n".join(rows) + "\n")
    parts = [slice(0, 10), slice(10, 10), slice(10, 60)]  # one is empty
    collections = {
        "pairs": (bag_of(X, y, 4),),
        "two bags": (db.from_sequence(X, npartitions=3), db.from_sequence(y, npartitions=3)),
        "delayed": ([dask.delayed((X[part], y[part])) for part in parts],),
        "futures": ([client.submit(lambda a, b: (a, b), X[part], y[part]) for part in parts],),
        "weights": ([dask.delayed((X, y, [0.5] * 60)), dask.delayed((X, y, [0.5] * 60))],),
        "files": (from_files(tmp_path / "part-*.txt"),),
    }
    for name, data in collections.items():
        there = open_source(crf, given(*data))
        np.testing.assert_array_equal(there.index.state_keys(), here.index.state_keys(), name)
        assert there.function(there.function.parameters(w)).value == pytest.approx(value, rel=1e-6), name


def test_the_same_model_and_the_same_bits(client):
    X, y = sentences(60)
    X = items(X)
    here = CRF(c1=0.3, c2=0.3, tol=1e-4, algorithm="lbfgs").fit(X, y)
    models = []
    for slow in [*client.nthreads(), None]:  # another worker is slower in every fit
        if slow is not None:
            client.submit(busy, workers=[slow], pure=False)
        models.append(CRF(c1=0.3, c2=0.3, tol=1e-4).fit(bag_of(X, y, 5)))
    one = models[0]
    for other in models[1:]:
        assert one.objective_ == other.objective_
        assert one.state_features_ == other.state_features_
    assert one.objective_ == pytest.approx(here.objective_, rel=1e-4)
    assert one.predict(X) == here.predict(X)


def busy():
    """Keep a worker from its tasks for a while."""
    import time

    time.sleep(0.2)


def test_an_extractor_learns_from_the_first_partition(client):
    X, y = sentences(40)
    rows = [[[word, str(len(word))] for word in x] for x in X]
    crf = CRF(extractor=Features(column(0).lower(), column(1).number().standardised()))
    assert crf.fit(bag_of(rows, y, 3)).predict([[["dog", "3"]]]) == [["N"]]


def test_bad_data_is_named(client, tmp_path):
    (tmp_path / "good.txt").write_text("a D\n\ndog N\n")
    (tmp_path / "bad.txt").write_text("a D\n\ndog N strange\n")
    crf = CRF(extractor=token_features)
    refuses(rf"^{tmp_path}/bad.txt:3: expected 2 columns", crf.fit, from_files(tmp_path / "*.txt"))
    X, y = sentences(6)
    refuses(
        "partition 1 .*6 sequences but y has 5", crf.fit, [dask.delayed((X, y)), dask.delayed((X, y[1:]))]
    )
    refuses("partition 0 .*expected a tuple", crf.fit, [dask.delayed("text")])
    refuses("nothing to train on", crf.fit, [dask.delayed(([], []))])
    refuses("every label is None", crf.fit, [dask.delayed(([["a"]], [[None]]))])
    refuses("no file has such a name", from_files, tmp_path / "none-*")


def test_refusals(client):
    X, y = sentences(6)
    bag = bag_of(X, y, 2)
    refuses("c2='auto' is not possible with a Dask", CRF(c2="auto").fit, bag)
    refuses("algorithm='sgd' is not", CRF(algorithm="sgd").fit, bag)
    refuses("validation='held-out' is not", ConstrainedCRF(validation="held-out").fit, bag)
    refuses("sample_weight= is not", CRF().fit, bag, sample_weight=[1.0])
    refuses("leave out y", CRF().fit, [dask.delayed((X, y))], y)
    refuses("so y must be one, too", CRF().fit, bag, y)
    refuses("2 partitions, but y has 1", CRF().fit, bag, db.from_sequence(y, npartitions=1))
    refuses("nothing but delayed objects", CRF().fit, [dask.delayed((X, y)), 3])


def test_without_a_cluster():
    X, y = sentences(6)
    refuses("make a client first", CRF().fit, [dask.delayed((X, y))])


def test_a_data_frame(client, tmp_path):
    frames = pytest.importorskip("dask.dataframe")
    X, y = sentences(40)
    rows = [
        (i, word, len(word), tag)
        for i, s in enumerate(zip(X, y, strict=True))
        for word, tag in zip(*s, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["sid", "word", "size", "tag"])
    halves = frames.concat([frames.from_pandas(table[table.sid % 2 == k], npartitions=1) for k in (0, 1)])
    model = CRF(c2=0.1, tol=1e-3).fit(halves, label="tag", sequence="sid")
    assert np.mean(model.predict(table) == table.tag) > 0.9
    model.save(tmp_path / "model.crfkit")
    tagged = halves.map_partitions(
        partial(tag_partition, tmp_path / "model.crfkit"), meta=halves._meta.assign(predicted="")
    ).compute()
    assert tagged.predicted.to_list() == model.predict(halves.compute()).to_list()


def test_the_command(client, tmp_path, capfd):
    from crfkit.cli import main

    X, y = sentences(60)
    for k in range(2):
        pairs = zip(X[30 * k : 30 * k + 30], y[30 * k : 30 * k + 30], strict=True)
        rows = ["\n".join(map(" ".join, zip(*pair, strict=True))) for pair in pairs]
        (tmp_path / f"part-{k}.txt").write_text("\n\n".join(rows) + "\n")
    files, address = [str(tmp_path / f"part-{k}.txt") for k in range(2)], client.scheduler.address
    words = ["train", *files, "-m", str(tmp_path / "m"), "--c2", "0.1", "--tol", "1e-3"]
    assert main([*words, "--dask", address]) == 0
    assert f"2 files, read by the workers of {address}" in capfd.readouterr().err
    assert main([*words[:-1], "1e-3", "-m", str(tmp_path / "here"), "-q"]) == 0
    there, here = (CRF.load(tmp_path / name) for name in ("m", "here"))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-3)
    assert there.classes_ == here.classes_
    assert main([*words, "--dask", address, "--blocks", "b"]) == 2


def test_every_part_stays_on_its_worker(client):
    # also if what the parts share is larger than they are
    X = [[[f"{i}.{k}" for k in range(3000)]] for i in range(20)]
    y = [["even" if i % 2 == 0 else "odd"] for i in range(20)]
    for _ in range(3):
        source = open_source(CRF(all_possible_states=True), given(bag_of(X, y, 2)))
        assert sorted(source.function._homes) == sorted(client.nthreads())
