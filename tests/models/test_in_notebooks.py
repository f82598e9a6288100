"""Every estimator in a notebook: its HTML before and after fit, its plots, and the tables of its results."""

import sys

import numpy as np
import pytest
from estimators import ESTIMATORS, LENGTHS, TABLE, X, Y, fitted, make
from html_page import Page

from crfkit import CRF, KernelLogisticRegression, TreeCRF
from crfkit.datasets import addresses
from crfkit.exceptions import InputError
from crfkit.features import token_features
from crfkit.io.axes import new_row
from crfkit.mining import AssociationMiner
from crfkit.selection import GradientSelector

BAD = "<script>alert('x')</script>&amp;"
PNG = b"\x89PNG"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name):
    blank, model = make(name), fitted(name)
    before, after = Page(blank._repr_html_()), Page(model._repr_html_())
    words = " ".join(after.words.split())
    assert model.tagger_.in_files in words
    assert "3: P, Q, R" in words
    assert "converged" in words
    assert blank._facts() == {}
    assert "3: P, Q, R" not in before.words
    bundle = model._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/plain"] == repr(model)
    assert model.tagger_.in_files in bundle["text/html"]
    facts = model._facts()
    assert facts["iterations"].startswith(f"{model.n_iter_}")
    assert ("objective" in facts) != ("risk" in facts)


def test_the_settings_of_scikit_learn_count():
    sklearn = pytest.importorskip("sklearn")
    with sklearn.config_context(display="text"):
        assert list(fitted("linear")._repr_mimebundle_()) == ["text/plain"]


def test_facts_of_a_calibrated_model_with_dev_data_and_bad_labels(tmp_path):
    y = [[BAD if label == "P" else label for label in labels] for labels in Y]
    model = CRF().fit(X, y, X_dev=X, y_dev=y).calibrate(X, y)
    facts = model._facts()
    assert facts["calibration"] == str(model.calibration_)
    assert facts["dev accuracy"].startswith(f"{max(r['dev_accuracy'] for r in model.history_):.4f}")
    page = Page(model._fitted_html())
    assert BAD in page.words
    model.save(tmp_path / "m.crfkit")
    loaded = CRF.load(tmp_path / "m.crfkit")
    assert loaded._facts() == facts
    model.plot_transitions()
    model.plot_confusion(X, y)


def test_other_estimators():
    points = KernelLogisticRegression(n_cliques=4, gamma=0.5, reg=1.0).fit(
        TABLE, [one for y in Y for one in y]
    )
    assert "kernel CRF" in Page(points._repr_html_()).words
    tokens, y = addresses(20, random_state=1)
    selector = GradientSelector(n_features=30)
    assert "30 selected" not in selector._repr_html_()
    selector.fit([token_features(one) for one in tokens], y)
    assert "30 selected" in Page(selector._repr_html_()).words
    selected = Page(selector.selected_._repr_html_())
    assert "… and 10 more" in selected.words
    assert str(selector.selected_[0]) in selected.words
    assert selector.path_._repr_html_()
    items = [[[f"w={BAD}", "c=x"], ["w=b", "c=x"]], [["w=b", "c=y"]]] * 4
    miner = AssociationMiner(min_support=2, important=False, min_confidence=0.5)
    mined = CRF(associations=miner).fit(items, [[BAD, "O"], ["O"]] * 4)
    page = Page(mined.rules_._repr_html_())
    assert f"w={BAD}" in page.words
    assert f"{len(mined.rules_)} association rules" in page.words
    assert mined._facts()["association rules"] == str(len(mined.rules_))


@pytest.mark.parametrize("name", sorted(ESTIMATORS.keys() & {"second order", "trees", "kernel"}))
def test_plots(name):
    pytest.importorskip("matplotlib")
    model, panes = fitted(name), new_row(4, (2, 2))
    assert model.plot_transitions(panes[0], X=TABLE, lengths=LENGTHS) is panes[0]
    assert model.plot_confusion(X, Y, panes[1]) is panes[1]
    assert model.plot_reliability(X, Y, panes[2], label="x") is panes[2]
    assert model.plot_history(panes[3]) is panes[3]
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in panes)
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_what_plots_show():
    pytest.importorskip("matplotlib")
    model = fitted("linear")
    table = model.plot_transitions().images[0].get_array()
    assert table[0, 1] == model.transition_features_["P", "Q"]
    sparse = CRF(all_possible_transitions=False).fit([[["a"], ["b"]]], [["A", "B"]])
    cells = sparse.plot_transitions().images[0].get_array()
    assert cells.mask.tolist() == [[True, False], [True, True]]
    heights = model.plot_history().lines[0].get_ydata()
    assert list(heights) == [record["objective"] for record in model.history_]
    dev = make("linear").fit(X, Y, X_dev=X, y_dev=Y).plot_history()
    assert [ax.get_ylabel() for ax in dev.figure.axes] == ["objective", "dev accuracy, %"]
    assert model.plot_confusion(X, Y, normalise=False).images[0].get_array().sum() == sum(map(len, Y))
    assert model.plot_reliability(X, Y, of="segments", n_bins=3).lines[0].get_xdata()[-1] == 1
    assert model.plot_history()._repr_png_().startswith(PNG)


def test_joint_trees_need_data():
    pytest.importorskip("lightgbm")
    model = fitted("trees")
    with pytest.raises(InputError, match=r"plot_transitions\(X=…\) draws the mean over X"):
        model.plot_transitions()
    with pytest.raises(InputError, match="no sequence of two positions or more"):
        model.plot_transitions(X=[X[0][:1]])
    cells = np.asarray(model.plot_transitions(X=X).images[0].get_array())
    assert cells.sum(axis=0) == pytest.approx(0)
    edges = model.tagger_.scored(X[:1]).lattice.edge[1:].mean(axis=0)
    alone = np.asarray(model.plot_transitions(X=X[:1]).images[0].get_array())
    assert alone == pytest.approx(edges - edges.mean(axis=0))
    assert isinstance(model, TreeCRF)


def test_errors_of_plots():
    model = fitted("linear")
    with pytest.raises(InputError, match="of must be 'labels' or 'segments', got 'x'"):
        model.plot_reliability(X, Y, of="x")
    foreign = CRF().fit(X, Y)
    foreign.history_ = []
    with pytest.raises(InputError, match="no history of training"):
        foreign.plot_history()


def test_results():
    """Lists as before, and tables in a notebook."""
    model = fitted("linear")
    best = model.predict_nbest(X[:2], 3)
    assert [len(one) for one in best] == [3, 3]
    labels, p = best[0][0]
    assert labels == model.predict(X[:1])[0]
    assert Page(best[0]._repr_html_()).words.startswith("rankprobabilitylabels1")
    assert Page(best._repr_html_()).words.startswith("sequencerankprobabilitylabels01")
    assert f"{p:.6g}" in best._repr_html_()
    found = model.predict_segments(X[:2])
    assert "sequencestartstoptypeprobability" in Page(found._repr_html_()).words
    assert "startstoptypeprobability" in Page(found[0]._repr_html_()).words
    assert "iterationobjective" in Page(model.history_._repr_html_()).words
    tokens, y = addresses(20, random_state=1)
    text = CRF(extractor=token_features, max_iterations=5, verbose=False)
    with pytest.warns(Warning, match="max_iterations"):
        text.fit(tokens, y)
    assert "startendlabeltextprobability" in Page(text.tag_text(f"12 {BAD}")._repr_html_()).words
    assert text.tag_text("") == []


def test_explanations_name_the_tokens():
    tokens = [["Ada", BAD], ["Ada"]]
    model = CRF(extractor=token_features, c2=0.1).fit(tokens, [["A", "B"], ["A"]])
    found = model.explain(tokens)
    assert str(found[0]).splitlines()[1].startswith("0 Ada")
    assert f"0:1 {BAD}" in Page(found._repr_html_()).words
    assert list(found.to_frame()["token"]) == ["Ada", BAD, "Ada"]
    assert fitted("linear").explain(X[:1])[0].tokens is None


def test_importances():
    pytest.importorskip("lightgbm")
    model = fitted("trees")
    ax = model.plot_importances(n=2)
    first = int(np.argmax(model.feature_importances_))
    assert ax.get_yticklabels()[0].get_text() == model.feature_names_[first]
    assert ax.patches[0].get_width() == pytest.approx(100 * model.feature_importances_[first])
    assert model.conjunctions(2)._repr_html_().count("<tr>") == 3


def test_a_calibration_says_what_it_does():
    assert repr(CRF().fit(X, Y).calibration_) == "<calibration: none>"
