"""Labels of positions as segments: both ways, partly known, in other schemes."""

import numpy as np
import pytest
from refusals import refuses

from crfkit.data.labels import encode_labels
from crfkit.inference.segmentations import segments_of
from crfkit.metrics.segment_rules import segment_rules
from crfkit.models.segments.label_codec import LabelCodec, in_own_scheme, longest_segments

TAGS = ["B-X", "B-Y", "I-X", "I-Y", "O"]
OFFSETS = np.array([0, 5, 5, 8])


def encoded(codec, y):
    offsets = np.concatenate([[0], np.cumsum([len(labels) for labels in y])]).astype(np.int64)
    return codec.encode_partial(encode_labels(y, codec.classes, offsets), offsets), offsets


@pytest.mark.parametrize("names", [TAGS, ["B", "I", "O"], ["B-X", "I-X"], ["P", "Q", "R"], ["O", "P", "Q"]])
def test_every_legal_labelling_is_one_segmentation(names):
    """Ids are those of the segments that the metrics find, and labels come back."""
    codec, rng = LabelCodec.of(names), np.random.default_rng(0)
    rules = segment_rules(codec.classes)
    for _ in range(100):
        labels = in_own_scheme([[names[k] for k in rng.integers(len(names), size=6)]], None)
        ids, offsets = encoded(codec, labels)
        assert ids.allowed is None
        assert [codec.classes[c] for c in codec.class_of[ids.ids]] == labels[0]
        found, legal = segments_of(ids.ids, offsets, codec.n_types)
        assert legal.all()
        inside = found.label != (-1 if codec.background is None else codec.background)
        true = rules.find(codec.class_of[ids.ids], offsets)
        np.testing.assert_array_equal(found.begin[inside], true.start)
        np.testing.assert_array_equal(found.end[inside], true.stop)
        kinds = [codec.types[y] for y in found.label[inside]]
        assert kinds == [rules.types[k] for k in true.kind]
        assert (found.end - found.begin)[~inside].tolist() == [1] * int((~inside).sum())


def test_tags_get_all_their_labels():
    codec = LabelCodec.of(["B-Y", "I-X", "O"])
    assert codec.classes == TAGS
    assert codec.types == ["O", "X", "Y"]
    assert codec.neighbours().all()
    assert LabelCodec.of(codec.classes).types == codec.types
    assert not LabelCodec.of(["P", "Q"]).neighbours().diagonal().any()
    assert LabelCodec.of(["O", "P"]).neighbours().tolist() == [[True, True], [True, False]]


def test_partial_labels():
    codec = LabelCodec.of(TAGS)  # ids O X Y, then their going on
    labels, _ = encoded(codec, [["B-X", None, "I-X", {"O", "I-X"}, "I-Y"]])
    assert labels.ids.tolist() == [1, -1, 4, -1, 5]
    assert labels.allowed[1].all()
    assert np.flatnonzero(labels.allowed[3]).tolist() == [0, 3, 4]  # 3: O that goes on, which has no length
    codec = LabelCodec.of(["O", "P", "Q"])
    labels, _ = encoded(codec, [["P", "P", None, "P", "O", "O", {"P", "Q"}]])
    assert labels.ids.tolist() == [1, 4, -1, -1, 0, 0, -1]
    assert np.flatnonzero(labels.allowed[3]).tolist() == [1, 4]
    assert np.flatnonzero(labels.allowed[6]).tolist() == [1, 2, 4, 5]


def test_other_schemes_are_read():
    own = [["B-X", "I-X", "B-X", "O", "B-Y"]]
    for scheme, labels in {
        "IOB1": ["I-X", "I-X", "B-X", "O", "I-Y"],
        "IOBES": ["B-X", "E-X", "S-X", "O", "S-Y"],
        "BILOU": ["B-X", "L-X", "U-X", "O", "U-Y"],
        "IOE2": ["I-X", "E-X", "E-X", "O", "E-Y"],
    }.items():
        assert in_own_scheme([labels], None) == in_own_scheme([labels], scheme) == own
    assert in_own_scheme(own, None) == own
    partly = [["S-X", None], *own]
    assert in_own_scheme(partly, None)[0] == ["S-X", None]
    refuses("the label 'S-X' is not 'O', 'B-…' or 'I-…'.*convert_labels", LabelCodec.of, ["O", "S-X"])
    refuses("the labels are legal in no scheme", in_own_scheme, [["B-X", "E-X", "E-X", "I-X", "B-X"]], None)
    refuses("scheme must be one of", in_own_scheme, own, "ABC")


def test_lengths_as_far_as_they_are_known():
    ids = np.array([1, 3, 3, -1, 3, 0, -1, -1])  # L = 2
    at, kinds, sizes = longest_segments(ids, 2)
    assert (at.tolist(), kinds.tolist(), sizes.tolist()) == ([0, 3, 5], [1, 1, 0], [3, 2, 1])
