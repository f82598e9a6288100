"""Random lattices for hypothesis, small enough to enumerate."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from crfkit.inference import LabelNgrams, Lattice

SETTINGS = settings(deadline=None, derandomize=True, max_examples=120)

# the size of scores: ordinary, tied, extreme, and mixtures of tiny and extreme
SCALES = ("one", "whole", "extreme", "mixed")


def random_scores(
    rng: np.random.Generator, shape: tuple[int, ...], scale: str, forbidden: float
) -> np.ndarray:
    if scale == "one":
        values = rng.normal(size=shape)
    elif scale == "whole":
        values = rng.integers(-1, 2, size=shape).astype(float)
    elif scale == "extreme":
        values = rng.uniform(-1e4, 1e4, size=shape)
    else:
        values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 5, size=shape)
    values[rng.random(shape) < forbidden] = -np.inf
    return values


def random_ngrams(rng: np.random.Generator, n_labels: int, order: int, scores: np.ndarray) -> LabelNgrams:
    """Return up to as many n-grams as there are scores, of 3 to order + 1 labels."""
    rows = {
        (-1,) * (order + 1 - size) + tuple(rng.integers(n_labels, size=size).tolist())
        for size in rng.integers(3, order + 2, size=len(scores)).tolist()
    }
    return LabelNgrams(np.array(sorted(rows), np.int32).reshape(-1, order + 1), scores[: len(rows)])


@st.composite
def lattices(draw: st.DrawFn, order: int | None = None) -> Lattice:
    n_labels = draw(st.integers(1, 4))
    longest = {1: 8, 2: 6, 3: 5, 4: 4}[n_labels]
    lengths = draw(st.lists(st.integers(0, longest), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from(SCALES))
    forbidden = draw(st.sampled_from([0.0, 0.0, 0.1, 0.3]))
    runs = draw(st.sampled_from([0, 0, 2, 3, 4])) if order is None else 0
    order = draw(st.integers(1, 2)) if order is None else order
    total = sum(lengths)
    ngrams = None
    if runs:
        scores = random_scores(rng, (draw(st.integers(0, 12)),), scale, forbidden)
        ngrams = random_ngrams(rng, n_labels, runs, scores)

    def table(rank: int) -> np.ndarray:
        shape = (n_labels,) * rank
        return random_scores(rng, (total, *shape) if draw(st.booleans()) else shape, scale, forbidden)

    def boundary() -> np.ndarray | None:
        return random_scores(rng, (n_labels,), scale, forbidden) if draw(st.booleans()) else None

    return Lattice(
        random_scores(rng, (total, n_labels), scale, forbidden / 2),
        table(2),
        np.concatenate([[0], np.cumsum(lengths)]),
        start=boundary(),
        end=boundary(),
        edge2=table(3) if order == 2 and not runs else None,
        ngrams=ngrams,
    )


def big_lattice(
    lengths: list[int],
    n_labels: int,
    order: int = 1,
    *,
    per_position: bool = False,
    scale: float = 1.0,
    seed: int = 0,
) -> Lattice:
    rng = np.random.default_rng(seed)
    total = sum(lengths)

    def table(rank: int) -> np.ndarray:
        shape = (n_labels,) * rank
        return scale * rng.normal(size=(total, *shape) if per_position else shape)

    return Lattice(
        scale * rng.normal(size=(total, n_labels)),
        table(2),
        np.concatenate([[0], np.cumsum(lengths)]),
        start=rng.normal(size=n_labels),
        end=rng.normal(size=n_labels),
        edge2=table(3) if order == 2 else None,
    )
