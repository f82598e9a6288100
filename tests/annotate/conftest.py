"""A session over a few short sentences."""

import pytest

from crfkit.annotate.learner import Learner, new_model
from crfkit.annotate.session import Session
from crfkit.annotate.store import Store
from crfkit.annotate.tag_set import TagSet
from crfkit.data import Columns
from crfkit.features.default_features import default_features

NAMES, VERBS, TOWNS = ["Ada", "Bob", "Eve", "Kim"], ["slept", "ran", "sang"], ["Rome", "Oslo"]
ROWS = [
    [(name, "NNP"), (verb, "VB"), ("in", "IN"), (town, "NNP")]
    for name in NAMES
    for verb in VERBS
    for town in TOWNS
]


def make_session(folder, **settings):
    """Return a session on 24 sentences without a model; ``rows`` and ``tags`` may be others."""
    columns = Columns.from_rows(settings.pop("rows", ROWS))
    store = Store(str(folder / "answers.jsonl"), settings.pop("tags", TagSet(("PER", "LOC"), "IOB2")))
    learner = Learner(new_model(default_features([0], [1]), 1), store.tags.scheme)
    return Session(columns, learner, store, **settings)


@pytest.fixture
def new_session(tmp_path):
    opened = []

    def make(**settings):
        for one in opened:
            one.store.close()
        opened.append(make_session(tmp_path, **settings))
        return opened[-1]

    yield make
    for one in opened:
        one.store.close()
