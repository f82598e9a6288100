"""Writing files: whatever happens, the old file or the new one."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.exceptions import CRFKitError, InputError, OutputError
from crfkit.io import read_model, write_model
from crfkit.io.opening import open_input
from crfkit.io.writing import check_writable, open_output

CONTENT = "Zürich\n".encode() * 50_000
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX files")


def write(path, content=b"new"):
    with open_output(path) as file:
        file.write(content)


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_all_or_nothing(tmp_path):
    path = tmp_path / "größe"
    with open_output(path) as file:
        file.write(b"old")
    assert path.read_bytes() == b"old"
    with pytest.raises(KeyboardInterrupt), open_output(path) as file:  # noqa: PT012
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    with open_output(str(path)) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["größe"]
    with pytest.raises(FileNotFoundError) as found, open_output(tmp_path / "missing" / "f"):
        pass
    assert found.value.filename == str(tmp_path / "missing" / "f")
    with pytest.raises(IsADirectoryError), open_output(tmp_path):
        pass


def test_permissions_are_those_of_a_new_file(tmp_path):
    with open_output(tmp_path / "f"):
        pass
    (tmp_path / "g").touch()
    assert (tmp_path / "f").stat().st_mode == (tmp_path / "g").stat().st_mode


def test_links_and_devices_stay(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with open_output(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    with open_output(os.devnull) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_packed_output(tmp_path):
    for name in ("a.gz", "b.gz"):
        with open_output(tmp_path / name) as file:
            file.write(CONTENT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    with open_input(tmp_path / "a.gz") as file:
        assert file.read() == CONTENT


def test_standard_output(capsysbinary):
    print("before")
    with open_output("-") as file:
        file.write(b"\xff\n")
    print("after")
    assert capsysbinary.readouterr().out == b"before\n\xff\nafter\n"


@posix
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o644, 0o666, 0o755])
def test_permissions_of_an_existing_file_stay(tmp_path, bits):
    for content in (b"old", b""):
        path = tmp_path / f"{len(content)}"
        path.write_bytes(content)
        path.chmod(bits)
        write(path)
        assert (path.read_bytes(), mode(path)) == (b"new", bits)


@posix
def test_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with open_output(path) as file:
        assert mode(file.name) == 0o600


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@posix
def test_a_group_that_cannot_be_kept_gains_nothing(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o674)
    before = os.fstat

    def of_others(descriptor):
        found = before(descriptor)
        return os.stat_result((*found[:5], found.st_gid + 1, *found[6:]))

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fstat", of_others)
    monkeypatch.setattr(os, "fchown", refuse)
    write(path)
    assert (path.read_bytes(), mode(path)) == (b"new", 0o644)


@posix
def test_a_read_only_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(PermissionError) as found:
        write(path)
    assert found.value.filename == str(path)
    assert path.read_bytes() == b"old"


def test_an_empty_file_that_is_open_gets_the_bytes():
    with tempfile.NamedTemporaryFile() as file:
        write_model(file.name, {"a": 1}, {})
        assert read_model(file)[0] == {"a": 1}
        assert Path(file.name).stat().st_ino == os.fstat(file.fileno()).st_ino


def test_an_empty_file_that_changes_meanwhile(tmp_path):
    path = tmp_path / "f"
    for meanwhile in (lambda: path.write_bytes(CONTENT), path.unlink):
        path.write_bytes(b"")
        with open_output(path) as file:
            file.write(b"new")
            meanwhile()
        assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["f"]


def test_an_empty_file_stays_empty_after_an_error(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.touch()
    with pytest.raises(KeyboardInterrupt), open_output(path) as file:  # noqa: PT012
        file.write(CONTENT)
        raise KeyboardInterrupt
    assert path.read_bytes() == b""

    def half(source, target, _):
        target.write(source.read(10))
        target.flush()
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr("shutil.copyfileobj", half)
    with pytest.raises(OutputError, match="needs more than 400,000 bytes"):
        write(path, CONTENT)
    assert path.read_bytes() == b""
    assert os.listdir(tmp_path) == ["f"]


@posix
def test_a_named_pipe_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_model(pipe, {"a": 1}, {})
    reader.join()
    assert pipe.is_fifo()
    assert read_model(got[0])[0] == {"a": 1}
    assert os.listdir(tmp_path) == ["pipe"]


@posix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_its_name(tmp_path, name):
    if not os.path.exists(name):
        pytest.skip(f"there is no {name}")
    code = f"from crfkit.io import open_output\nwith open_output({name!r}) as f: f.write(b'new')"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout == b"new"
    path = tmp_path / "f"
    for mode, expected in (("wb", b"new"), ("ab", b"newnew")):
        with path.open(mode) as file:
            subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
        assert path.read_bytes() == expected


@posix
def test_abandoned_temporary_files_are_removed(tmp_path):
    """A killed writer leaves its temporary file; the next writer removes it, but none that is in use."""
    code = f"""
import os, signal
from crfkit.io import open_output
with open_output({str(tmp_path / "f")!r}) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".crfkit-")
    others = [".crfkit-0123.tmp", ".crfkit-0123456789abcdef.tmp.txt", "crfkit-0123456789abcdef.tmp"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".crfkit-0123456789abcdef.tmp").symlink_to(others[0])
    with open_output(tmp_path / "g") as outer:
        write(tmp_path / "f")
        outer.write(b"done")
    assert (tmp_path / "g").read_bytes() == b"done"
    assert sorted(os.listdir(tmp_path)) == sorted(["f", "g", ".crfkit-0123456789abcdef.tmp", *others])


def test_many_writers_of_one_directory(tmp_path):
    """Writers that remove abandoned files must not remove the files that others are about to lock."""

    def work(k):
        for _ in range(40):
            write(tmp_path / f"f{k % 3}", CONTENT[: 1000 * k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(os.listdir(tmp_path)) == ["f0", "f1", "f2"]
    for k in range(3):
        assert (tmp_path / f"f{k}").read_bytes() in (CONTENT[: 1000 * k], CONTENT[: 1000 * (k + 3)])


@posix
def test_a_full_disk_names_the_file_and_the_space(tmp_path):
    """Under a limit on the size of files, as on a full disk, writing fails within."""
    import resource

    import numpy as np

    path = tmp_path / "model"
    write_model(path, {"a": 1}, {})
    old = path.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OutputError, match=r"the file needs 800,.* bytes; nothing was changed") as found:
            write_model(path, {"a": 2}, {"w": np.zeros(100_000)})
        with pytest.raises(OutputError, match=r"the file needs more than .* bytes"):
            write(path, bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert isinstance(found.value, CRFKitError)
    assert (found.value.errno, found.value.filename) == (errno.EFBIG, str(path))
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model"]


def test_no_space_left(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "f").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"the file needs more than 3 bytes, [\d,]+ are free"):
        write(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_the_new_file_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, real=real, name=name: (calls.append(name), real(*a))[1])
    write(tmp_path / "f")
    assert calls == ["fsync", "replace", "fsync"]  # the file, then its directory


@settings(max_examples=30)
@given(st.lists(st.tuples(st.binary(max_size=2000), st.booleans()), max_size=8))
def test_any_sequence_of_writes(writes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        expected = None
        for content, fails in writes:
            try:
                with open_output(path) as file:
                    file.write(content)
                    if fails:
                        raise InputError("stop")
                expected = content
            except InputError:
                pass
            assert (path.read_bytes() if path.exists() else None) == expected
            assert os.listdir(folder) == ([] if expected is None else ["f"])


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="it is a directory"):
        check_writable(str(tmp_path))
    with pytest.raises(InputError, match="there is no directory"):
        check_writable(str(tmp_path / "no" / "f"))
    check_writable(os.devnull)
    check_writable(str(tmp_path / "f"))
    check_writable("-")
