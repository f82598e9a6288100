"""The library logs what a server wants to know, and prints nothing."""

import logging
import subprocess
import sys

import pytest

from crfkit import CRF, KernelCRF, TreeCRF
from crfkit.models.foreign import export_crfsuite, import_model

X = [[["a"], ["b"]], [["b"], ["a"]], [["b"]]]
Y = [["A", "B"], ["B", "A"], ["B"]]


def test_training_and_files_are_logged(caplog, capfd, tmp_path):
    with caplog.at_level(logging.INFO, "crfkit"):
        crf = CRF().fit(X, Y)
        crf.save(tmp_path / "m.crfkit")
        CRF.load(tmp_path / "m.crfkit")
        export_crfsuite(crf.tagger_, tmp_path / "m.crfsuite")
        import_model(tmp_path / "m.crfsuite")
    names, messages = zip(*((one.name, one.getMessage()) for one in caplog.records), strict=True)
    assert names == ("crfkit.training", *["crfkit.models"] * 3)
    assert messages[0].startswith(f"training ended after {crf.n_iter_} iterations: objective ")
    size = (tmp_path / "m.crfkit").stat().st_size
    assert messages[1:] == (
        f"wrote {tmp_path / 'm.crfkit'} (linear-chain CRF, {size} bytes)",
        f"opened {tmp_path / 'm.crfkit'} (linear-chain CRF, {size} bytes)",
        f"opened {tmp_path / 'm.crfsuite'} (crfsuite)",
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "model", [KernelCRF(n_cliques=2, gamma=1.0), TreeCRF(n_iterations=2, min_samples_leaf=1)]
)
def test_other_models_log_their_training(model, caplog, capfd):
    rows = [[[0.0], [1.0]], [[1.0], [0.0]], [[1.0]]]
    with caplog.at_level(logging.INFO, "crfkit"):
        model.fit(rows, Y)
    assert [one.name for one in caplog.records] == ["crfkit.training"]
    assert "training ended after" in caplog.text
    assert capfd.readouterr() == ("", "")


def test_without_a_handler_nothing_is_shown():
    code = f"import logging\nfrom crfkit import CRF\nCRF().fit({X}, {Y}).predict({X})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
