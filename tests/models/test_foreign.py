"""Conversion of other tools' models to taggers, and of taggers to CRFsuite models."""

import io

import numpy as np
import pycrfsuite
import pytest
from foreign_models import FILES
from refusals import refuses, unreadable
from small_tasks import ADDRESSES, CASINO

from crfkit import CRF
from crfkit.data.columns import Columns
from crfkit.exceptions import InputError
from crfkit.io.model_formats import MODEL_FORMATS, model_format
from crfkit.models.foreign import export_crfsuite, import_model
from crfkit.models.linear.tagger import LinearTagger

WAPITI, CRFPP = FILES["wapiti_tiny"], FILES["crfpp_tiny"]
COLUMNS = Columns.from_rows([[["x"], ["y"], ["z"]], [["y"]]])


def pycrfsuite_marginals(path, X, labels):
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    arrays = []
    for sequence in X:
        tagger.set(sequence)
        arrays.append(
            np.array([[tagger.marginal(label, t) for label in labels] for t in range(len(sequence))])
        )
    return arrays, [tagger.tag(sequence) for sequence in X]


@pytest.fixture(scope="module")
def crf():
    X, y = ADDRESSES
    return CRF(c2=0.1, n_jobs=1).fit(X, y)


class TestImport:
    def test_the_format_is_told_by_the_content(self, crf, tmp_path):
        crf.save(tmp_path / "a.crfsuite")  # the file name does not choose the format
        export_crfsuite(crf.tagger_, tmp_path / "b.crfkit")
        (tmp_path / "c").write_bytes(WAPITI)
        (tmp_path / "d").write_bytes(CRFPP)
        for name, expected in {
            "a.crfsuite": "crfkit",
            "b.crfkit": "crfsuite",
            "c": "wapiti",
            "d": "crf++",
        }.items():
            path = tmp_path / name
            assert model_format(path) == expected
            content = path.read_bytes()
            classes = import_model(path).classes
            assert isinstance(import_model(path, expected), LinearTagger)
            assert import_model(content).classes == classes
            assert import_model(bytearray(content)).classes == classes
            assert import_model(io.BytesIO(content)).classes == classes
            assert import_model(str(path), n_jobs=1).n_jobs == 1

    def test_wapiti_and_crfpp_agree(self):
        ours = [import_model(content).marginal_arrays(COLUMNS) for content in (WAPITI, CRFPP)]
        for a, b in zip(*ours, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-15)
        assert import_model(WAPITI).predict(COLUMNS) == [["A", "B", "A"], ["B"]]

    def test_saved_as_crfkits_own(self, tmp_path):
        for content in (WAPITI, CRFPP):
            tagger = import_model(content)
            tagger.save(tmp_path / "m.crfkit", {})
            again = import_model(tmp_path / "m.crfkit")
            assert again.template == tagger.template
            for a, b in zip(again.marginal_arrays(COLUMNS), tagger.marginal_arrays(COLUMNS), strict=True):
                np.testing.assert_array_equal(a, b)

    def test_a_stream_is_read_to_the_end_of_crfkits_model_only(self, crf):
        stream = io.BytesIO()
        crf.save(stream)
        stream.write(b"more")
        stream.seek(0)
        assert import_model(stream).classes == crf.classes_
        assert stream.read() == b"more"

    @pytest.mark.parametrize(
        "content", [b"", b"hello", bytes(100), b"PK\x03\x04" * 20, b"\x89CRF", b"version 1"]
    )
    def test_none_of_them(self, content):
        unreadable(r"crfkit.*CRFsuite.*Wapiti.*CRF\+\+", import_model, content)

    @pytest.mark.parametrize("format", MODEL_FORMATS)
    def test_a_wrong_format(self, format):
        content = CRFPP if format != "crf++" else WAPITI
        unreadable("cannot read the model", import_model, content, format)
        refuses("format must be one of 'crfkit', 'crfsuite', 'wapiti', 'crf", import_model, content, "mallet")

    def test_text_streams_are_refused(self):
        unreadable("binary mode", import_model, io.StringIO("#mdl#"))

    def test_no_such_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            import_model(tmp_path / "none")


class TestExport:
    def test_python_crfsuite_says_the_same(self, crf, tmp_path):
        X, _ = ADDRESSES
        path = tmp_path / "m.crfsuite"
        export_crfsuite(crf.tagger_, path)
        theirs, labels = pycrfsuite_marginals(path, X, crf.classes_)
        assert crf.predict(X) == labels
        for a, b in zip(crf.predict_marginals(X, as_arrays=True), theirs, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)

    def test_values_and_all_possible_features(self, tmp_path):
        X, y = CASINO
        options = {"all_possible_states": True, "all_possible_transitions": True}
        crf = CRF(n_jobs=1, **options).fit(X, y)
        path = tmp_path / "m.crfsuite"
        export_crfsuite(crf.tagger_, path)
        theirs, labels = pycrfsuite_marginals(path, X, [str(label) for label in crf.classes_])
        assert [[str(label) for label in sequence] for sequence in crf.predict(X)] == labels
        for a, b in zip(crf.predict_marginals(X, as_arrays=True), theirs, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)

    def test_labels_become_strings(self, tmp_path):
        crf = CRF(n_jobs=1).fit([[["a"], ["b"]]], [[1, 0]])
        export_crfsuite(crf.tagger_, tmp_path / "m.crfsuite")
        assert import_model(tmp_path / "m.crfsuite").classes == [str(label) for label in crf.classes_]
        mixed = CRF(n_jobs=1).fit([[["a"], ["b"]]], [[1, "1"]])
        with pytest.raises(InputError, match="two labels have the same name as text"):
            export_crfsuite(mixed.tagger_, tmp_path / "m.crfsuite")

    def test_what_crfsuite_cannot_hold(self, tmp_path):
        X, y = ADDRESSES
        path = tmp_path / "m.crfsuite"
        second = CRF(order=2, n_jobs=1).fit(X, y)
        refuses("first-order models only: train with order=1", export_crfsuite, second.tagger_, path)
        pairs = CRF(edge_attributes="word", n_jobs=1).fit([[["word=a", "x"], ["word=b", "y"]]], [["A", "B"]])
        refuses("no features of an attribute and a pair of labels", export_crfsuite, pairs.tagger_, path)
        assert not path.exists()

    def test_a_bare_edge_line_can_be_exported(self, tmp_path):
        path = tmp_path / "m.crfsuite"
        export_crfsuite(import_model(WAPITI), path)
        tagger = import_model(path)
        assert tagger.template is None
        items = [[["u:x"], ["u:y"], ["u:z"]], [["u:y"]]]
        for a, b in zip(
            tagger.marginal_arrays(items), import_model(WAPITI).marginal_arrays(COLUMNS), strict=True
        ):
            np.testing.assert_allclose(a, b, atol=1e-15)
