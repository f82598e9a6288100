"""The address generator: deterministic, consistent labels, hard enough to be interesting."""

import pytest
from refusals import refuses

from crfkit.datasets import addresses
from crfkit.datasets.address_formats import FIELDS, FORMATS
from crfkit.metrics import segments, strict_segments


def test_same_seed_same_addresses():
    assert addresses(50, random_state=1) == addresses(50, random_state=1)
    assert addresses(50, random_state=1) != addresses(50, random_state=2)


def test_a_longer_list_begins_with_the_shorter():
    assert addresses(50, random_state=1)[0][:20] == addresses(20, random_state=1)[0]


@pytest.mark.parametrize("noise", [0.0, 0.5, 1.0])
def test_labels_fit_tokens(noise):
    tokens, labels = addresses(500, noise=noise, random_state=0)
    permitted = {"O", *(f"{tag}-{field}" for tag in "BI" for field in FIELDS)}
    for words, tags in zip(tokens, labels, strict=True):
        assert len(words) == len(tags) > 0
        assert all(word and " " not in word for word in words)
        assert set(tags) <= permitted
        assert segments(tags) == strict_segments(tags)  # valid IOB2


def test_plain_labels_are_the_types():
    tokens, iob = addresses(100, random_state=0)
    same_tokens, plain = addresses(100, scheme="plain", random_state=0)
    assert tokens == same_tokens
    assert plain == [[label.split("-")[-1] for label in labels] for labels in iob]


def test_every_field_occurs():
    _, labels = addresses(2000, scheme="plain", random_state=0)
    assert {label for sequence in labels for label in sequence} == {"O", *FIELDS}


@pytest.mark.parametrize("country", FORMATS)
def test_each_country(country):
    tokens, labels = addresses(50, noise=0, countries=[country], random_state=0)
    for sequence in labels:
        kinds = {label[2:] for label in sequence}
        assert {"city", "postcode"} <= kinds
        assert kinds & {"street", "box"}
    assert len({" ".join(words) for words in tokens}) == 50


def test_held_out_words_are_partly_unseen():
    tokens, _ = addresses(2000, noise=0, random_state=0)
    known = {word for words in tokens[:1500] for word in words}
    held_out = [word for words in tokens[1500:] for word in words]
    unseen = sum(word not in known for word in held_out) / len(held_out)
    assert 0.1 < unseen < 0.5


def test_noise_changes_the_text():
    clean = {word for words in addresses(1000, noise=0, random_state=0)[0] for word in words}
    noisy = {word for words in addresses(1000, noise=1, random_state=0)[0] for word in words}
    assert len(noisy - clean) > len(noisy) / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n must be 0 or more, got -1"),
        ({"n": 1, "noise": 1.5}, "noise must lie between 0 and 1, got 1.5"),
        ({"n": 1, "scheme": "BILOU"}, "scheme must be 'IOB2' or 'plain', got 'BILOU'"),
        ({"n": 1, "countries": ["XX"]}, r"countries must be some of US, .*got \['XX'\]"),
        ({"n": 1, "countries": []}, "countries must be some of"),
    ],
)
def test_bad_arguments(options, message):
    refuses(message, addresses, **options)


def test_none_at_all():
    assert addresses(0) == ([], [])
