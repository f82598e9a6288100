"""Penalties that training finds: one, one per group of features, and scales that carry over."""

import numpy as np
import pytest
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF, ConstrainedCRF
from crfkit.datasets import addresses, casino
from crfkit.exceptions import CRFKitError, InputError, ModelFileError
from crfkit.features import PenaltyScales, Template, token_features
from crfkit.features.default_features import default_features
from crfkit.features.general_scales import general_scales
from crfkit.models.linear import penalty_search, penalty_step
from crfkit.models.linear.penalty_search import Certified, HeldOutSearch

X, Y = ADDRESSES[0][:40], ADDRESSES[1][:40]


@pytest.fixture(scope="module")
def grouped():
    return CRF(c2="auto", penalty_groups="templates", n_jobs=1).fit(X, Y)


def test_one_penalty_is_found_and_does_not_depend_on_the_first(monkeypatch):
    found = []
    for first in (0.05, 1.0, 20.0):
        monkeypatch.setattr(HeldOutSearch.__init__, "__kwdefaults__", {"start": first})
        found.append(CRF(c2="auto", n_jobs=1).fit(*CASINO))
    losses = [crf.penalty_history_[-1]["loss"] for crf in found]
    assert max(losses) < 1.005 * min(losses)
    assert [crf.penalty_history_[0]["c2"] for crf in found] == pytest.approx([0.05, 1.0, 20.0])
    crf = found[1]
    assert crf.penalties_ == {"all features": pytest.approx(crf.c2_)}


def test_groups_have_penalties_of_their_own(grouped):
    assert {"transitions", "lower", "-1:shape", "names without a value"} <= set(grouped.penalties_)
    penalties = np.array(list(grouped.penalties_.values()))
    assert grouped.c2_ == pytest.approx(np.exp(np.log(penalties).mean()))
    assert penalties.max() > 2 * penalties.min()
    stages = [record["stage"] for record in grouped.penalty_history_]
    assert stages[0] == "common"
    assert stages[-1] == "groups, certified"
    certified = [record for record in grouped.penalty_history_ if "certified" in record["stage"]]
    assert certified[1]["loss"] < certified[0]["loss"]
    again = CRF(c2="auto", penalty_groups="templates", n_jobs=1).fit(X, Y)
    assert again.penalties_ == grouped.penalties_
    assert again.state_features_ == grouped.state_features_


def test_scales_act_as_attributes_of_other_sizes():
    """A penalty of s · c2 is one of c2 on an attribute whose values are divided by √s."""
    scales = {"roll": 0.25, "excess": 4.0, "before": 9.0}
    rolls, y = CASINO
    scaled = [
        [
            {
                "roll": {position["roll"]: 2.0},
                "excess": position["excess"] / 2,
                "before": {name: value / 3 for name, value in position["before"].items()},
            }
            for position in sequence
        ]
        for sequence in rolls
    ]
    prefixes = {"roll": "roll", "excess": "excess", "before": "before"}
    one = CRF(c2=0.5, tol=1e-7).fit(scaled, y)
    for c2, groups in ((0.5, PenaltyScales(scales, prefixes)), (1.0, PenaltyScales({**scales}, prefixes))):
        crf = CRF(c2=c2, tol=1e-7, penalty_groups=groups).fit(rolls, y)
        assert crf.penalties_["before"] == pytest.approx(9 * c2)
        same = c2 == 0.5
        assert (crf.objective_ == pytest.approx(one.objective_, rel=1e-5)) is same
        marginals = [m.predict_marginals(data)[3] for m, data in ((crf, rolls), (one, scaled))]
        gap = max(abs(a[k] - b[k]) for a, b in zip(*marginals, strict=True) for k in a)
        assert (gap < 5e-3) is same


def test_scales_carry_over(grouped, tmp_path):
    scales = grouped.penalty_scales_
    assert np.prod(list(scales.factors.values())) == pytest.approx(1)
    scales.save(tmp_path / "scales.json")
    loaded = PenaltyScales.load(tmp_path / "scales.json")
    assert loaded == PenaltyScales(scales.factors, "templates")
    again = CRF(c2="auto", penalty_groups=PenaltyScales.mean([loaded, scales])).fit(X, Y)
    assert {record["stage"] for record in again.penalty_history_} == {"common", "common, certified"}
    assert again.penalty_scales_.factors == pytest.approx(scales.factors)
    assert again.penalties_["lower"] == pytest.approx(again.c2_ * scales.factors["lower"])
    given = CRF(c2=0.3, penalty_groups=dict(scales.factors)).fit(X, Y)
    assert given.penalties_["lower"] == pytest.approx(0.3 * scales.factors["lower"])
    assert not given.penalty_history_
    words = PenaltyScales({"transitions": 0.09, "far": 2.0, "same": 1.0}).in_words(2)
    assert words == "transitions 0.09 times, far 2 times the common penalty"


def test_saved_with_the_model(grouped, tmp_path):
    grouped.save(tmp_path / "model.crfkit")
    loaded = CRF.load(tmp_path / "model.crfkit")
    assert loaded.penalties_ == grouped.penalties_
    assert loaded.c2_ == grouped.c2_
    assert loaded.get_params()["penalty_groups"] == "templates"
    assert loaded.get_params()["c2"] == "auto"
    assert [r["loss"] for r in loaded.penalty_history_] == [r["loss"] for r in grouped.penalty_history_]
    grouped.save(tmp_path / "again.crfkit")
    assert (tmp_path / "again.crfkit").read_bytes() == (tmp_path / "model.crfkit").read_bytes()
    for groups in ({"words": "word=", "rest": ["lower=", "shape="]}, PenaltyScales({"lower": 0.5})):
        crf = CRF(c2="auto", penalty_groups=groups).fit(X, Y)
        crf.save(tmp_path / "other.crfkit")
        loaded = CRF.load(tmp_path / "other.crfkit")
        loaded.fit(X, Y)
        assert loaded.penalties_ == pytest.approx(crf.penalties_, rel=0.1)
    plain = CRF().fit(X, Y)
    assert not hasattr(plain, "c2_")
    with pytest.raises(AttributeError, match="one penalty"):
        plain.penalty_scales_  # noqa: B018
    with pytest.raises(ModelFileError, match="penalties is malformed"):
        plain._restore({"penalties": {"c2": 1.0, "groups": {"a": -1.0}, "history": []}})


def test_plot(grouped, tmp_path):
    pytest.importorskip("matplotlib")
    grouped.plot_penalties(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000
    with pytest.raises(CRFKitError, match="no search to draw"):
        CRF().fit(X, Y).plot_penalties()


def test_an_elastic_net_is_found(grouped, tmp_path):
    """c1 = c2 of each group; features of different groups stay apart, and most weights are 0."""
    for groups in (None, "templates"):
        crf = CRF(c1="auto", c2="auto", penalty_groups=groups, n_jobs=1).fit(X, Y)
        assert len(crf.state_features_) < 0.9 * len(grouped.state_features_)
        if groups is None:
            same = CRF(c1=crf.c2_, c2=crf.c2_, n_jobs=1).fit(X, Y)
            assert crf.objective_ == pytest.approx(same.objective_, rel=1e-3)
    assert set(crf.penalties_) == set(grouped.penalties_)
    crf.save(tmp_path / "model.crfkit")
    loaded = CRF.load(tmp_path / "model.crfkit")
    assert loaded.c1 == "auto"
    loaded.partial_fit(X[:3], Y[:3])
    assert loaded._l1 == crf.c2_
    assert ConstrainedCRF.load(tmp_path / "model.crfkit").c1 == crf.c2_


@pytest.mark.parametrize(
    "settings",
    [
        {"order": 2},
        {"edge_attributes": "shape="},
        {"c1": 0.1},
        {"algorithm": "lbfgs", "min_freq": 2},
        {"class_weight": "balanced"},
        {"all_possible_states": True, "all_possible_transitions": True},
    ],
    ids=str,
)
def test_with_other_settings(settings):
    few, labels = X[:16], Y[:16]
    weights = np.linspace(0.5, 2, 16)
    crf = CRF(
        c2="auto",
        penalty_groups={"words": ["word=", "lower="], "shapes": "shape="},
        penalty_folds=3,
        **settings,
    )
    crf.fit(few, labels, sample_weight=weights, X_dev=X[30:], y_dev=Y[30:])
    assert {"words", "transitions", "all others"} <= set(crf.penalties_)
    assert ("label triples" in crf.penalties_) is ("order" in settings)
    assert ("shapes on label pairs" in crf.penalties_) is ("edge_attributes" in settings)
    assert crf.score(few, labels) > 0.75


def test_arrays_partial_labels_and_partial_fit():
    rng = np.random.default_rng(0)
    y = [["a" if v > 0 else "b" for v in rng.normal(size=8)] for _ in range(12)]
    arrays = [np.array([[label == "a", rng.normal()] for label in labels], float) for labels in y]
    y[0][2] = None
    crf = CRF(c2="auto", penalty_groups="templates").fit(arrays, y)
    assert set(crf.penalties_) == {"transitions", "columns"}
    c2 = crf.c2_
    crf.partial_fit(arrays[:3], y[1:4])
    assert crf.c2_ == c2
    first = CRF(c2="auto").partial_fit(arrays, y)
    assert first.c2_ > 0
    del first.c2_
    with pytest.raises(InputError, match="give a number c2"):
        first.partial_fit(arrays, y)


def test_groups_of_sequences_stay_together():
    """Documents are repeated: a fold that splits them has seen its held-out part."""
    rolls, y = casino(12, 12, random_state=1)
    twice = [[[str(r), f"{t}{r}{i}"] for t, r in enumerate(s)] for i, s in enumerate(rolls)] * 2
    split = CRF(c2="auto").fit(twice, y * 2)
    whole = CRF(c2="auto").fit(twice, y * 2, groups=list(range(12)) * 2)
    assert whole.penalty_history_[-1]["loss"] > 1.5 * split.penalty_history_[-1]["loss"]


@pytest.mark.parametrize(("enough", "folds"), [(1, 2), (600, 3), (10_000, 5)])
def test_large_data_trains_fewer_folds(monkeypatch, enough, folds):
    """Two folds at least; more as long as they hold out too few positions."""
    trained = []

    def search(function, some, *rest, **settings):
        trained.append(len(some))
        return HeldOutSearch(function, some, *rest, **settings)

    monkeypatch.setattr(penalty_step, "_ENOUGH", enough)
    monkeypatch.setattr(penalty_step, "HeldOutSearch", search)
    CRF(c2="auto").fit(*CASINO)
    assert trained == [folds]


def test_a_label_in_one_fold_alone_and_few_sequences():
    x, y = [[["a"], ["b"]], [["a"], ["c"]], [["b"], ["c"]]], [["A", "B"], ["A", "C"], ["B", "C"]]
    crf = CRF(c2="auto").fit(x, y)  # three folds
    assert np.isfinite(crf.penalty_history_[-1]["loss"])
    with pytest.raises(InputError, match="at least 2 sequences, to hold some of them out, got 1"):
        CRF(c2="auto").fit(x[:1], y[:1])
    with pytest.raises(InputError, match="at least 2 groups"):
        CRF(c2="auto").fit(x, y, groups=["one"] * 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"c2": "automatic"}, "c2 must be a number of at least 0 or one of 'auto'"),
        ({"c2": "auto", "penalty_folds": 1}, "whole number of at least 2"),
        ({"c2": "auto", "penalty_groups": "template"}, "penalty_groups must be None, 'templates'"),
        ({"c2": "auto", "penalty_groups": {}}, "penalty_groups must be"),
        ({"c2": "auto", "penalty_groups": {"a": 0.0}}, "penalty_groups must be"),
        ({"penalty_groups": "templates"}, "needs c2='auto'"),
        ({"c2": 0, "penalty_groups": {"word": 2.0}}, "c2, which is 0"),
        ({"c2": "auto", "penalty_groups": {"none": "zzz", "word": "word="}}, "no feature belongs to 'none'"),
        ({"c2": "auto", "penalty_groups": lambda name: 3}, "a group's name, a str; got 3 for"),
        ({"c2": "auto", "penalty_groups": lambda name: name}, "at most 500 make sense"),
        ({"c2": "auto", "algorithm": "ap"}, "has no penalties"),
        ({"c1": "auto"}, "found together with c2='auto', got c2=0.1"),
        ({"c1": "auto", "c2": "auto", "algorithm": "sgd"}, "leave out penalty_groups and c1='auto'"),
        ({"c2": "auto", "penalty_groups": "templates", "algorithm": "sgd"}, "one L2 penalty for all"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(InputError, match=message):
        CRF(**settings).fit(X, Y)


def test_groups_that_label_worse_are_not_kept(monkeypatch):
    n = 20
    better = Certified(10.0, np.zeros(n), np.zeros(1))
    assert penalty_search._what_is_worse(Certified(11.0, np.zeros(n), np.zeros(1)), better) is None
    assert "higher held-out loss" in penalty_search._what_is_worse(
        better, Certified(11.0, np.zeros(n), np.zeros(1))
    )
    worse = Certified(9.0, np.arange(n) % 3, np.zeros(1))
    assert "label more" in penalty_search._what_is_worse(better, worse)
    monkeypatch.setattr(penalty_search, "_what_is_worse", lambda before, after: "are worse")
    crf = CRF(c2="auto", penalty_groups="templates").fit(X[:20], Y[:20])
    assert crf.penalty_history_[-1]["kept"] is False
    assert len(set(np.round(list(crf.penalties_.values()), 12))) == 1


def test_a_function_and_a_template():
    tokens, labels = addresses(20, random_state=1)
    template = Template.parse("U00:%x[0,0]\nU01:%x[-1,0]\nB")
    crf = CRF(template=template, c2="auto", penalty_groups="templates").fit(
        [[[w] for w in s] for s in tokens], labels
    )
    assert set(crf.penalties_) == {"transitions", "U00", "U01"}
    by = CRF(extractor=token_features, c2="auto", penalty_groups=lambda name: name[:1]).fit(tokens, labels)
    assert {"w", "l", "transitions"} <= set(by.penalties_)
    few = CRF(
        extractor=token_features,
        c2="auto",
        penalty_groups=lambda name, label: "pairs" if isinstance(label, tuple) else label[:1],
        edge_attributes="shape=",
    ).fit(tokens, labels)
    assert set(few.penalties_) == {"transitions", "B", "I", "O", "pairs on label pairs"}
    with pytest.raises(InputError, match="cannot be saved"):
        by.penalty_scales_.save("nowhere")


def test_constrained_models_keep_their_own_penalties():
    crf = ConstrainedCRF(c2=1.0, tau=1.0).fit(X[:10], Y[:10])
    assert crf.c2_ == 1.0
    assert isinstance(crf.penalties_, np.ndarray)


def test_general_scales():
    tokens, labels = addresses(20, random_state=1)
    crf = CRF(extractor=token_features, c2=0.1, penalty_groups="general").fit(tokens, labels)
    assert crf.c2_ == pytest.approx(0.1)
    assert crf.penalties_["transitions"] < 0.05
    assert crf.penalties_["+2:lower"] > 0.2
    assert set(crf.penalties_) <= set(general_scales(crf.penalties_))  # every group has a scale
    default = CRF(extractor=default_features([0], [1]), c2="auto", penalty_groups="general")
    default.fit([[[w, w[:1]] for w in s] for s in tokens], labels)
    assert set(default.penalties_) <= set(general_scales(default.penalties_))
    assert default.penalty_scales_.groups == "templates"
    with pytest.raises(InputError, match="but these are others"):
        CRF(c2=0.1, penalty_groups="general").fit(*CASINO)
