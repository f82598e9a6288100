"""Progress: who sees what, and the estimate of the time that is left."""

import io
import re
import sys
import threading

import pytest

from crfkit import CRF, ConstrainedCRF, KernelCRF, progress
from crfkit.datasets import casino, galaxy
from crfkit.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Notebook(io.StringIO):
    """As ipykernel.iostream.OutStream: no terminal."""


Notebook.__module__ = "ipykernel.iostream"


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still; clock.now is its time."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


def record(number, objective=1.0):
    return {"iteration": number, "objective": objective, "seconds": 0.5}


def watched(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.mark.parametrize("kind", [Terminal, Notebook])
def test_auto_shows_a_line_after_a_few_seconds_where_somebody_sees_it(monkeypatch, clock, kind):
    stream = watched(monkeypatch, kind())
    shown = Progress("auto", 10)
    clock.now += 2.0
    shown.show(record(1))
    assert stream.getvalue() == ""
    clock.now += 2.0
    shown.show(record(2))
    assert stream.getvalue().startswith(
        f"\rCRF [{'#' * 4}{'-' * 16}] 2 of 10, 0:04, about 0:16 left  objective 1.00"
    )
    clock.now += 0.05
    shown.show(record(3))
    assert "3 of 10" not in stream.getvalue()  # too soon after the last
    clock.now += 1.0
    shown.show(record(4))
    assert "4 of 10, 0:05, about 0:08 left" in stream.getvalue()
    shown.close("it is enough")
    assert stream.getvalue().endswith("\n")
    assert "enough" not in stream.getvalue()


def test_a_long_pass_shows_how_much_of_it_is_done(monkeypatch):
    stream = watched(monkeypatch, Terminal())
    monkeypatch.setattr(progress, "_TICK", 0.01)
    monkeypatch.setenv("COLUMNS", "120")
    seen = threading.Event()

    def share():
        if "pass 34%" in stream.getvalue():
            seen.set()
        return 0.34

    shown = Progress(True, 10)
    shown.show(record(1))
    with shown.within(share):
        assert seen.wait(20)
    assert "1 of 10, 0:00, about 0:00 left, pass 34%  objective 1.00" in stream.getvalue()
    assert not any(thread.name == "crfkit progress" for thread in threading.enumerate())
    with Progress(False).within(share):
        assert not any(thread.name == "crfkit progress" for thread in threading.enumerate())


def test_auto_is_silent_in_pipes_threads_and_workers(monkeypatch, clock):
    streams = [io.StringIO(), Terminal(), Terminal()]

    def go():
        shown = Progress("auto", 10)
        clock.now += 10
        shown.say("something")
        shown.show(record(1))
        shown.close("")

    watched(monkeypatch, streams[0])
    go()
    watched(monkeypatch, streams[1])
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    import multiprocessing.process

    watched(monkeypatch, streams[2])
    monkeypatch.setattr(multiprocessing.process.current_process(), "_name", "LokyProcess-1")
    go()
    assert [stream.getvalue() for stream in streams] == [""] * 3


def test_false_is_silent_and_true_is_at_once(monkeypatch, clock):
    stream = watched(monkeypatch, Terminal())
    for verbose in (False, True):
        assert stream.getvalue() == ""
        shown = Progress(verbose)
        shown.say("reading")
        shown.show(record(1))
        clock.now += 100
        shown.show(record(2))
        shown.close("why it ended")
    assert re.search(r"\rCRF 0:00  reading", stream.getvalue())
    assert "2 iterations, 1:40" in stream.getvalue()
    assert stream.getvalue().endswith("\nwhy it ended\n")


def test_a_shorter_line_leaves_nothing_of_the_longer(monkeypatch, clock):
    stream = watched(monkeypatch, Terminal())
    shown = Progress(True)
    shown.say("a long message")
    clock.now += 1
    shown.say("short")
    assert stream.getvalue() == "\rCRF 0:00  a long message\rCRF 0:01  short         "


def test_the_estimate_counts_iterations_not_what_came_before(monkeypatch, clock):
    stream = watched(monkeypatch, Terminal())
    shown = Progress(True, 5)
    clock.now += 60
    shown.say("a search has ended")
    clock.now += 2
    shown.show(record(1))
    assert "1 of 5, 1:02, about 0:08 left" in stream.getvalue()


def test_an_optimiser_that_stops_by_itself():
    """An objective that falls geometrically: fall over ten iterations below tol at a known iteration."""
    shown = Progress(False, 1000, tol=1e-5)
    objectives = [1.0 + 0.8**k for k in range(200)]
    ends = next(k for k in range(10, 200) if objectives[k - 10] - objectives[k] < 1e-5 * objectives[k])
    for k in range(30):
        shown.show(record(k, objectives[k]))
        if k < 20:
            assert shown.expected is None
    assert abs(shown.expected - ends) <= 3
    assert Progress(False, 40, tol=1e-5).expected is None


def test_rounds_of_a_search(monkeypatch, clock):
    stream = watched(monkeypatch, Terminal())
    shown = Progress(True, 100, tol=1e-5)
    shown.rounds(4)
    for k in range(25):  # the first training has an estimate of its own
        clock.now += 1
        shown.show(record(k, 1.0 + 0.8**k))
    assert re.search(r"25 of about \d+, 0:25, about 0:\d\d left in this round", stream.getvalue())
    clock.now += 5
    shown.end_round("round 1")
    assert "[#####---------------] 1 of at most 4, 0:30, at most 1:30 left  round 1" in stream.getvalue()
    clock.now += 10
    shown.rounds(None)
    clock.now += 1
    shown.show(record(1))
    assert stream.getvalue().rstrip().endswith("\rCRF 1 iterations, 0:41  objective 1.00  0.5 s")


def test_models_show_it(monkeypatch):
    monkeypatch.setattr(progress, "AFTER", 0.0)
    stream = watched(monkeypatch, Terminal())
    X, y = casino(20, 10, random_state=0)
    X = [[[str(face)] for face in rolls] for rolls in X]
    CRF().fit(X, y)
    assert "\rCRF " in stream.getvalue()
    stream = watched(monkeypatch, Terminal())
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    KernelCRF().fit(*galaxy(6, 10, random_state=0))
    search = r"\d of at most 9, 0:\d\d, at most 0:\d\d left  choosing"
    assert re.search(search, stream.getvalue())
    assert re.search(r"\d of \d+, 0:\d\d, about 0:\d\d left  objective", stream.getvalue())
    stream = watched(monkeypatch, Terminal())
    ConstrainedCRF(max_outer=5, tau=100).fit(X, y)
    assert re.search(r"1 of at most 5, 0:\d\d, at most 0:\d\d left  outer step", stream.getvalue())
    stream = watched(monkeypatch, Terminal())
    CRF(verbose=False).fit(X, y)
    assert stream.getvalue() == ""


def test_the_last_line_tells_how_it_ended(monkeypatch, clock):
    """Not an older iteration, and no estimate."""
    stream = watched(monkeypatch, Notebook())
    shown = Progress(True, 10)
    shown.show(record(1))
    clock.now += 0.01  # too soon for another line
    shown.show(record(2, 0.5))
    shown.end("done")
    *_, last, end = stream.getvalue().split("\r")[-1].split("\n")[:-1]
    assert (last.rstrip(), end) == ("CRF 2 iterations, 0:00  objective 0.50  0.5 s", "done")


def test_a_narrow_line_has_whole_words(monkeypatch, clock):
    monkeypatch.setenv("COLUMNS", "40")
    stream = watched(monkeypatch, Terminal())
    Progress(True).show(record(1) | {"gradient_norm": 2.0})
    assert stream.getvalue() == "\rCRF 1 iterations, 0:00  objective 1.00"
    monkeypatch.setenv("COLUMNS", "12")
    stream = watched(monkeypatch, Terminal())
    Progress(True).show(record(1))
    assert stream.getvalue() == "\rCRF 1 itera"


def test_training_that_ended_well_sounds_like_it(monkeypatch):
    stream = watched(monkeypatch, io.StringIO())
    X, y = casino(20, 10, random_state=0)
    CRF(verbose=True).fit([[[str(face)] for face in rolls] for rolls in X], y)
    last = stream.getvalue().splitlines()[-1]
    assert last.startswith("training is complete: ")
    assert not re.search(r"stop|limit|fail|no longer|could not", last)
