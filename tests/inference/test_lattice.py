"""Valid and invalid lattices, and the errors; empty sequences and empty batches."""

import numpy as np
import pytest
from lattices import big_lattice
from refusals import refuses

from crfkit.exceptions import CRFKitError, InputError, NoPathError
from crfkit.inference import (
    Lattice,
    entropy,
    expected_counts,
    log_partition,
    marginals,
    max_marginal,
    nbest,
    path_score,
    sample,
    viterbi,
)

NODE, EDGE = np.zeros((5, 2)), np.zeros((2, 2))


def test_converts_and_describes() -> None:
    lattice = Lattice([[1, 2], [3, 4]], np.zeros((2, 2), dtype=np.float32)[:, ::-1], [0, 1, 2])
    assert lattice.node.dtype == np.float64
    assert (lattice.order, lattice.n_sequences, lattice.n_positions, lattice.n_labels) == (1, 2, 2, 2)
    assert repr(lattice) == "Lattice(order=1, 2 sequences, 2 positions, 2 labels)"
    assert Lattice(NODE, EDGE, [0, 5], edge2=np.zeros((2, 2, 2))).order == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node": np.zeros(5)}, r"node must have shape \[ΣT, L\].*got shape \(5,\)"),
        ({"node": np.zeros((5, 0))}, "at least one label"),
        ({"node": [["a", "b"]]}, "node must be an array of numbers"),
        ({"edge": np.zeros((3, 2))}, r"edge must have shape \(2, 2\).*or \(5, 2, 2\).*got \(3, 2\)"),
        ({"edge2": EDGE}, r"edge2 must have shape \(2, 2, 2\)"),
        ({"start": np.zeros(3)}, r"start must have shape \(2,\)"),
        ({"end": np.zeros((2, 1))}, r"end must have shape \(2,\)"),
        ({"offsets": [0, 4]}, "end with the number of positions, 5; got 0 and 4"),
        ({"offsets": [1, 5]}, "begin with 0"),
        ({"offsets": [0, 4, 3, 5]}, "sequence 1 runs from 4 to 3"),
        ({"offsets": [0.0, 5.0]}, "vector of N.1 integers"),
        ({"offsets": []}, "vector of N.1 integers"),
        ({"start": [0, np.nan]}, "start scores must be finite.*got nan label 1"),
        ({"edge": [[0, np.inf], [0, 0]]}, "edge scores must be finite.*got inf labels 0 → 1"),
    ],
)
def test_refuses(arguments: dict[str, object], message: str) -> None:
    refuses(message, Lattice, **{"node": NODE, "edge": EDGE, "offsets": [0, 2, 5], **arguments})


def test_bad_scores_are_named_by_sequence_and_position() -> None:
    node = NODE.copy()
    node[3, 1] = np.nan
    refuses("got nan in sequence 1 at position 1, label 1", Lattice, node, EDGE, [0, 2, 5])
    edge = np.zeros((5, 2, 2))
    edge[4, 0, 1] = np.inf
    refuses("got inf in sequence 1 at position 2, labels 0 → 1", Lattice, NODE, edge, [0, 2, 5])


def test_rows_that_are_not_used_may_hold_anything() -> None:
    edge, edge2 = np.zeros((5, 2, 2)), np.zeros((5, 2, 2, 2))
    edge[[0, 2]] = np.nan
    edge2[[0, 1, 2, 3]] = np.inf
    lattice = Lattice(NODE, edge, [0, 2, 5], edge2=edge2)
    np.testing.assert_allclose(log_partition(lattice), np.log(2) * np.array([2, 3]))
    np.testing.assert_allclose(marginals(lattice, edge=True).node, 0.5)
    assert np.isfinite(nbest(lattice, 9).scores).all()
    edge2[4, 1, 1, 0] = np.inf
    with pytest.raises(InputError, match=r"edge2.*in sequence 1 at position 2, labels 1 → 1 → 0"):
        Lattice(NODE, edge, [0, 2, 5], edge2=edge2)


@pytest.mark.parametrize("offsets", [[0], [0, 0], [0, 0, 0]])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("per_position", [False, True])
def test_nothing_in_nothing_out(offsets: list[int], order: int, per_position: bool) -> None:
    shape = (0,) if per_position else ()
    lattice = Lattice(
        np.zeros((0, 3)),
        np.zeros((*shape, 3, 3)),
        offsets,
        edge2=np.zeros((*shape, 3, 3, 3)) if order == 2 else None,
    )
    zeros = np.zeros(len(offsets) - 1)
    np.testing.assert_array_equal(log_partition(lattice), zeros)
    np.testing.assert_array_equal(entropy(lattice), zeros)
    np.testing.assert_array_equal(viterbi(lattice).score, zeros)
    np.testing.assert_array_equal(path_score(lattice, []), zeros)
    np.testing.assert_array_equal(nbest(lattice, 3).scores, zeros)
    assert marginals(lattice, edge=True).edge.shape == (0, 3, 3)
    assert expected_counts(lattice).edge.sum() == 0
    assert max_marginal(lattice).labels.shape == (0,)
    assert sample(lattice, 2).shape == (2, 0)
    for i in range(len(offsets) - 1):
        assert nbest(lattice, 3).paths_of(i).shape == (1, 0)


def test_no_path_names_sequence_and_position() -> None:
    lattice = big_lattice([3, 4, 5, 4], 3)
    node = lattice.node.copy()
    node[3 + 4 + 2] = -np.inf
    node[-1] = -np.inf
    for edge in (lattice.edge, np.broadcast_to(lattice.edge, (16, 3, 3))):
        dead = Lattice(node, edge, lattice.offsets)
        with pytest.raises(
            NoPathError, match=r"through sequence 2 \(nor through 1 other.*at its position 2 "
        ):
            marginals(dead)
        with pytest.raises(CRFKitError):
            viterbi(dead)


def test_bad_arguments() -> None:
    lattice = Lattice(NODE, EDGE, [0, 2, 5])
    refuses("labels must be 5 integers", path_score, lattice, [0, 1])
    refuses("labels must be 5 integers", path_score, lattice, [0.0, 1.0, 0.0, 0.0, 0.0])
    refuses("got 2 in sequence 1 at position 1", path_score, lattice, [0, 1, 0, 2, 0])
    for k in (0, -1, 1.5, True):
        refuses("k must be", nbest, lattice, k)
        refuses("n_samples must be", sample, lattice, k)
    for n_jobs in (0, -2, True, 1.5):
        refuses("n_jobs must be", viterbi, lattice, n_jobs=n_jobs)
    refuses("weights must be 2 finite", expected_counts, lattice, weights=[1.0])
    refuses("weights must be 2 finite", expected_counts, lattice, weights=[1.0, np.nan])
