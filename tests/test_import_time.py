"""``import crfkit`` stays light: what it loads is checked, not the time it takes."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import crfkit

HEAVY = {
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "tqdm",
    "lightgbm",
    "dask",
    "joblib",
    "threadpoolctl",
    "jinja2",
}


def modules_after(statement: str) -> set[str]:
    """Return the top-level modules that a new interpreter has loaded after ``statement``."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_of_its_own():
    loaded = modules_after("import crfkit")
    assert not loaded & (HEAVY | {"numpy"})
    assert [name for name in loaded if name.startswith("crfkit.")] == ["crfkit._lazy"]


@pytest.mark.parametrize(
    "name", ["metrics", "datasets", "features", "exceptions", "cli", "compat.pycrfsuite"]
)
def test_light_subpackages(name):
    assert not modules_after(f"import crfkit.{name}") & HEAVY


def test_version_needs_no_numerics():
    loaded = modules_after("from crfkit.cli import main\ntry: main(['--version'])\nexcept SystemExit: pass")
    assert not loaded & HEAVY


def test_tagging_loads_no_optional_library(tmp_path):
    """Neither on the command line nor by python-crfsuite's classes; scores need none either."""
    X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]
    crfkit.CRF().fit(X, y).save(tmp_path / "m.crfkit")
    (tmp_path / "data.crfsuite").write_text("A\ta\nB\tb\n\n", encoding="utf-8")
    code = f"""
import os; os.chdir({str(tmp_path)!r})
import crfkit
from crfkit.cli import main
from crfkit.compat.pycrfsuite import Tagger
assert main(["convert", "m.crfkit", "m.crfsuite", "-q"]) == 0
assert main(["tag", "m.crfkit", "data.crfsuite", "-q", "-o", "found"]) == 0
tagger = Tagger(); tagger.open("m.crfsuite"); tagger.tag([["a"], ["b"]])
crfkit.metrics.mcnemar([["A", "B"]], [["A", "B"]], [["A", "A"]])
crfkit.metrics.segment_f1([["B-A", "O"]], [["O", "B-A"]])
"""
    assert not modules_after(code) & HEAVY


@pytest.mark.parametrize("name", crfkit.__all__)
def test_every_public_name_resolves(name):
    assert getattr(crfkit, name) is not None
    assert name in dir(crfkit)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'crfkit' has no attribute 'CFR'"):
        _ = crfkit.CFR


def test_packages_fetch_names_at_first_use():
    loaded = modules_after("from crfkit.models.foreign import load_any")
    for name in ("io.csv_data", "io.foreign_model", "io.crfsuite_data", "data.relabel", "features.builder"):
        assert f"crfkit.{name}" not in loaded


STUBS = sorted(Path(crfkit.__file__).parent.rglob("__init__.pyi"))


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_every_package_offers_the_names_of_its_stub(stub):
    """In any order: if a name is also a module's, the module does not hide it."""
    place = stub.parent.relative_to(Path(crfkit.__file__).parent.parent)
    package = import_module(".".join(place.parts))
    modules = [path.stem for path in stub.parent.glob("*.py") if not path.stem.startswith("__")]
    for name in modules:
        import_module(f"{package.__name__}.{name}")
    star: dict[str, object] = {}
    exec(f"from {package.__name__} import *", star)
    for line in stub.read_text().splitlines():
        if line.startswith("from "):
            _, module, _, name, _, alias = line.split()
            own = import_module(module)
            expected = getattr(own, name)
            assert (name, getattr(package, name), star[name]) == (alias, expected, expected)
            assert name in package.__all__
            assert name in dir(package)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


def test_older_names_of_modules_that_have_moved():
    from crfkit.apps.genes import fasta, gff
    from crfkit.apps.genes.gene_scores import gene_scores
    from crfkit.io.fasta import read_fasta
    from crfkit.io.gff import read_annotation
    from crfkit.metrics.genes import gene_scores as older

    assert (read_fasta, read_annotation, older) == (fasta.read_fasta, gff.read_annotation, gene_scores)
