"""What a release says about itself is said once, or the same everywhere. ``make package`` builds one."""

import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import crfkit

ROOT = Path(__file__).parent.parent


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version():
    assert version("crfkit") == crfkit.__version__
    assert f"\nversion: {crfkit.__version__}\n" in text("CITATION.cff")
    assert not re.search(r"^version\s*=", text("pyproject.toml"), re.MULTILINE)


def test_the_test_extra_brings_what_the_others_bring():
    """Only pynndescent is left out: its tests are skipped without it."""
    extras: dict[str, set[str]] = {}
    for line in requires("crfkit"):
        if found := re.match(r"([\w\[\],-]+).*extra == ['\"](\w+)['\"]", line):
            extras.setdefault(found[2], set()).add(found[1])
    names = ("sklearn", "trees", "kernels", "graph", "plot", "tables", "report", "annotate", "dask")
    own = set().union(*(extras[name] for name in names))
    assert own - extras["test"] == {"pynndescent"}
    (everything,) = extras["all"]  # crfkit[…]
    assert set(everything[len("crfkit[") : -1].split(",")) == set(names)


def test_builds_share_no_directory():
    """A fixed build directory, or a file written to the sources, lets two builds of one checkout collide."""
    settings = text("pyproject.toml").split("[tool.scikit-build]")[1].split("\n[tool.")[0]
    assert not re.search(r"^build-dir", settings, re.MULTILINE)
    written = re.findall(r"(?:OUTPUT|DESTINATION|set\(stub)\s+(\S+?)\)?\s", text("CMakeLists.txt"))
    assert written
    assert not [place for place in written if "SOURCE_DIR" in place]


def test_formatters_before_a_commit_are_those_of_the_tests():
    hooks, extra = text(".pre-commit-config.yaml"), text("pyproject.toml")
    for tool, place in (("ruff", "ruff-pre-commit"), ("clang-format", "mirrors-clang-format")):
        (pinned,) = re.findall(rf'"{tool}~=([\d.]+)"', extra)
        (used,) = re.findall(rf"{place}\n    rev: v([\d.]+)\n", hooks)
        assert used == pinned


def test_wheels_are_built_for_every_version_that_is_tested():
    versions = {f"3.{minor}" for minor in re.findall(r"cp3(\d+)-\*", text("pyproject.toml"))}
    tested = set(re.findall(r'"(3\.\d+)"', text(".github/workflows/tests.yml")))
    assert versions == tested == {"3.10", "3.11", "3.12", "3.13", "3.14"}
    for minor in versions:
        assert f"Programming Language :: Python :: {minor}" in text("pyproject.toml")


def test_a_thread_that_still_tags_at_exit_is_not_reported_as_a_leak():
    code = """
import threading
from crfkit import CRF
from crfkit.features import token_features
crf = CRF(extractor=token_features).fit([["a", "b"]], [["A", "B"]])
started = threading.Event()
def tag():
    while True:
        crf.predict([["a", "b"] * 50])
        started.set()
threading.Thread(target=tag, daemon=True).start()
started.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
