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
FOLDERS = {"0.1": FOLDER, "0.2": FOLDER / "0.2"}


def content_of(path):
    """Return the bytes of a file that may be compressed."""
    return path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())


ANSWERS = {version: json.loads(content_of(folder / "answers.json")) for version, folder in FOLDERS.items()}
GENES = {version: answers.pop("genes") for version, answers in ANSWERS.items()}
FILES = [(version, name) for version, answers in ANSWERS.items() for name in answers]


@pytest.mark.parametrize(("version", "name"), FILES)
def test_same_answers(version, name, tmp_path):
    expected = ANSWERS[version][name]
    X = [np.array(one) for one in expected["X"]] if expected["arrays"] else expected["X"]
    if expected["class"] == "GraphCRF":
        X = [crfkit.grid(rows) for rows in X]
    model = getattr(crfkit, expected["class"]).load(content_of(FOLDERS[version] / f"{name}.crfkit"))
    model.save(tmp_path / "again.crfkit")
    for each in (model, type(model).load(tmp_path / "again.crfkit")):
        assert each.predict(X) == expected["labels"]
        for found, own in zip(each.predict_marginals(X, as_arrays=True), expected["marginals"], strict=True):
            np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-12)


# Not for one sequence per call: kernels, segments and graphs; the numbers of the columns of an array.
NOT_FOR_THE_TAGGER = {
    "kernel",
    "graph",
    "segments",
    "arrays",
    "graphs_linear",
    "graphs_trees",
    "graphs_kernel",
}


@pytest.mark.parametrize(("version", "name"), [one for one in FILES if one[1] not in NOT_FOR_THE_TAGGER])
def test_same_labels_of_the_tagger(version, name):
    expected = ANSWERS[version][name]
    tagger = crfkit.Tagger(content_of(FOLDERS[version] / f"{name}.crfkit"))
    tag = tagger.tag_tokens if tagger.takes_tokens else tagger.tag
    assert [tag(one) for one in expected["X"]] == expected["labels"]


@pytest.mark.parametrize("version", FOLDERS)
def test_every_file_has_answers(version):
    files = {path.name.split(".")[0] for path in FOLDERS[version].glob("*.crfkit*")}
    assert files == {*ANSWERS[version], "genes"}


@pytest.mark.parametrize("version", FOLDERS)
def test_same_genes(version):
    finder = GeneFinder.load(content_of(FOLDERS[version] / "genes.crfkit"))
    found = finder.predict(GENES[version]["X"])
    assert [[list(map(list, gene.exons)) for gene in genes] for genes in found] == GENES[version]["genes"]


@pytest.mark.parametrize(
    "record", [{"outer_history": 5}, {"outer_history": [1]}, {"violations": ["x"]}, {"c2": []}, {"c2": None}]
)
def test_a_malformed_record_of_constraints(record):
    content = rewritten((FOLDER / "constrained.crfkit").read_bytes(), {"validation_constraints": record})
    unreadable("its constraints are malformed", crfkit.ConstrainedCRF.load, content)
