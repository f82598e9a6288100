"""Model files of earlier versions load and give the same labels and probabilities."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from model_files import rewritten
from refusals import unreadable

import crfkit
from crfkit.apps.genes import GeneFinder

FOLDER = Path(__file__).parent / "written_before"
ANSWERS = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
GENES = ANSWERS.pop("genes")


@pytest.mark.parametrize("name", ANSWERS)
def test_same_answers(name, tmp_path):
    expected = ANSWERS[name]
    X = [np.array(one) for one in expected["X"]] if expected["arrays"] else expected["X"]
    model = getattr(crfkit, expected["class"]).load(FOLDER / f"{name}.crfkit")
    model.save(tmp_path / "again.crfkit")
    for each in (model, type(model).load(tmp_path / "again.crfkit")):
        assert each.predict(X) == expected["labels"]
        for found, own in zip(each.predict_marginals(X, as_arrays=True), expected["marginals"], strict=True):
            np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-12)


def test_every_file_has_answers():
    assert {path.stem for path in FOLDER.glob("*.crfkit")} == set(ANSWERS)


def test_same_genes():
    finder = GeneFinder.load(gzip.decompress((FOLDER / "genes.crfkit.gz").read_bytes()))
    found = finder.predict(GENES["X"])
    assert [[list(map(list, gene.exons)) for gene in genes] for genes in found] == GENES["genes"]


@pytest.mark.parametrize(
    "record", [{"outer_history": 5}, {"outer_history": [1]}, {"violations": ["x"]}, {"c2": []}, {"c2": None}]
)
def test_a_malformed_record_of_constraints(record):
    content = rewritten((FOLDER / "constrained.crfkit").read_bytes(), {"validation_constraints": record})
    unreadable("its constraints are malformed", crfkit.ConstrainedCRF.load, content)
