"""A session: answers, undo, fits, and going on after a restart."""

import threading

import pytest

from crfkit.annotate.curve import WINDOW, counted, curve
from crfkit.annotate.session import OutdatedError
from crfkit.annotate.store import Answer
from crfkit.annotate.tag_set import Marks, Span, TagSet
from crfkit.exceptions import InputError

GOLD = Marks([Span(0, 1, "PER"), Span(3, 4, "LOC")], [])


def label(session, n, marks=GOLD):
    for _ in range(n):
        session.answer(session.current().number, marks)
        if session.due:
            session.refit()


def test_it_learns_and_proposes(new_session):
    session = new_session()
    first = session.current()
    assert (first.proposal, first.marks) == (None, Marks([], []))
    assert session.current() is first  # until it is answered
    label(session, 12)
    assert session.fitted_on == 11  # after the first answer, and ten answers later
    assert session.current().marks == GOLD
    assert session.current().proposal.labels == ["B-PER", "O", "O", "B-LOC"]
    label(session, 12)
    assert session.current() is None
    assert session.pool.n_taken == len(session.store.answers) == 24
    with pytest.raises(OutdatedError):
        session.answer(0, GOLD)


def test_undo_brings_the_sentence_back_with_its_labels(new_session):
    session = new_session()
    assert not session.undo()
    label(session, 3)
    last = session.store.answers[-1]
    wrong = session.current().number
    session.answer(wrong, Marks([Span(1, 2, "LOC")], [0]))
    assert session.undo()
    again = session.current()
    assert (again.number, again.marks) == (wrong, Marks([Span(1, 2, "LOC")], [0]))
    assert session.store.answers[-1] == last
    session.answer(wrong, GOLD)
    assert session.store.answers[-1].labels == ["B-PER", "O", "O", "B-LOC"]
    assert session.pool.n_taken == 4


def test_an_answer_that_does_not_fit_changes_nothing(new_session):
    session = new_session()
    now = session.current()
    with pytest.raises(InputError, match="no label 'ORG'"):
        session.answer(now.number, Marks([Span(0, 1, "ORG")], []))
    with pytest.raises(OutdatedError, match="labelled already, perhaps in another window"):
        session.answer(now.number + 1, GOLD)
    assert session.store.answers == []
    assert session.current() is now


def test_going_on_after_a_restart(new_session):
    session = new_session()
    label(session, 7)
    done = {answer.rows for answer in session.store.answers}
    again = new_session()
    assert again.n_elsewhere == 0
    assert again.due
    again.refit()
    assert again.fitted_on == 7
    label(again, 17)
    assert again.current() is None
    assert len({answer.rows for answer in again.store.answers}) == 24
    assert done < {answer.rows for answer in again.store.answers}


def test_answers_from_other_data_are_kept_and_learnt(new_session):
    session = new_session()
    label(session, 5)
    other = new_session(rows=[[("Max", "NNP"), ("sang", "VB"), ("in", "IN"), ("Bonn", "NNP")]] * 3)
    assert other.n_elsewhere == 5
    assert other.pool.n_taken == 0
    other.refit()
    assert other.current().proposal.labels[0] == "B-PER"
    label(other, 3)
    assert len(other.store.answers) == 8
    for _ in range(8):  # also those whose sentences are elsewhere
        assert other.undo()
    assert not other.undo()
    assert other.current() is not None


def test_equal_sentences_are_labelled_one_by_one(new_session):
    rows = [[("Ada", "NNP"), ("ran", "VB"), ("to", "IN"), ("Rome", "NNP")]] * 4
    label(new_session(rows=rows), 2)
    again = new_session(rows=rows)
    assert again.pool.n_taken == 2
    assert again.n_elsewhere == 0


def test_unknown_everything(new_session):
    session = new_session()
    label(session, 3, Marks([], [0, 1, 2, 3]))
    assert not session.learner.has_model
    assert session.failure == ""
    label(session, 1)
    assert session.learner.has_model
    assert session.fitted_on == 4


def test_a_fit_that_fails_does_not_end_the_session(new_session):
    session = new_session()
    label(session, 5)
    other = new_session(rows=[[("Max",), ("sang",)]] * 3)  # other columns than the answers so far
    other.answer(other.current().number, Marks([], []))
    other.refit()
    assert "columns" in other.failure or "cells" in other.failure
    assert other.current() is not None
    assert not other.fitting


def test_answers_during_a_fit(new_session):
    """A fit in another thread does not stop a person, and what is answered meanwhile is not lost."""
    session = new_session()
    label(session, 2)
    began, may_end = threading.Event(), threading.Event()
    real = session.learner.fit

    def slow(x, y):
        began.set()
        may_end.wait(10)
        return real(x, y)

    session.learner.fit = slow
    thread = threading.Thread(target=session.refit)
    thread.start()
    assert began.wait(10)
    assert session.fitting
    session.answer(session.current().number, GOLD)
    session.refit()  # a second one at the same time does nothing
    assert session.undo()
    may_end.set()
    thread.join(10)
    assert session.fitted_on == 2
    assert not session.fitting


def test_plain_labels_begin_unmarked(new_session):
    session = new_session(tags=TagSet(("N", "V"), None))
    assert session.current().marks == Marks([], [])
    session.answer(session.current().number, Marks([Span(0, 1, "N")], []))
    assert session.store.answers[0].labels == ["N", None, None, None]


def given(right, wrong, sampled, unknown=0):
    labels = ["O"] * (right + wrong) + [None] * unknown
    proposed = ["O"] * right + ["B-X"] * (wrong + unknown)
    return Answer((("a",),) * len(labels), labels, proposed, sampled, 0)


def test_curve():
    assert counted(given(3, 1, False, unknown=2)) == (3, 4)
    assert counted(given(3, 1, False)._replace(proposed=None)) == (0, 0)
    answers = [given(1, 1, False), given(4, 0, True), given(3, 1, False), given(0, 0, False, unknown=3)]
    assert curve(answers, sampled=False) == [(1, 0.5), (3, 4 / 6)]
    assert curve(answers, sampled=True) == [(2, 1.0)]
    assert curve([], sampled=True) == []
    long = [given(0, 2, False)] * 100 + [given(2, 0, False)] * WINDOW
    assert curve(long, sampled=False)[-1] == (100 + WINDOW, 1.0)
    assert len(curve(long * 10, sampled=False)) == 200
