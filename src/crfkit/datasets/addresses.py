"""Generated postal addresses with the noise of real ones: a labelled task without a download."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal

from crfkit.datasets.address_formats import FORMATS
from crfkit.datasets.address_noise import blur, rearrange, separate
from crfkit.exceptions import InputError


def addresses(
    n: int,
    *,
    noise: float = 0.5,
    scheme: Literal["IOB2", "plain"] = "IOB2",
    countries: Sequence[str] | None = None,
    random_state: int | None = None,
) -> tuple[list[list[str]], list[list[str]]]:
    """Make ``n`` postal addresses of seven countries: tokens, and a label for each token.

    Parameters
    ----------
    n : how many addresses.
    noise : 0 to 1. Parts left out or in another order, missing commas, abbreviations, upper or lower case,
        missing accents, typing errors, misread characters. At 0 addresses are complete and clean.
    scheme : ``"IOB2"`` for labels ``B-street``, ``I-street``, ``O``; ``"plain"`` for ``street``, ``O``.
    countries : some of US, GB, DE, FR, BR, IT, NL; all of them by default.
    random_state : the same number gives the same addresses; None gives different ones each time.

    Returns
    -------
    tokens, labels : lists of ``n`` lists of strings. Fields: recipient, company, number, street, unit,
        district, city, region, postcode, country, box (a post-office box); ``O`` is everything else.

    >>> tokens, labels = addresses(2, noise=0, random_state=3)
    >>> len(tokens), len(tokens[0]) == len(labels[0])
    (2, True)
    """
    if n < 0:
        raise InputError(f"n must be 0 or more, got {n}")
    if not 0 <= noise <= 1:
        raise InputError(f"noise must lie between 0 and 1, got {noise}")
    if scheme not in ("IOB2", "plain"):
        raise InputError(f"scheme must be 'IOB2' or 'plain', got {scheme!r}")
    chosen = list(FORMATS) if countries is None else list(countries)
    if not chosen or any(country not in FORMATS for country in chosen):
        raise InputError(f"countries must be some of {', '.join(FORMATS)}, got {countries!r}")

    r = Random(random_state)
    X, y = [], []
    for _ in range(n):
        lines = FORMATS[r.choice(chosen)](r)
        tokens = blur(separate(rearrange(lines, noise, r), noise, r), noise, r)
        X.append([text for text, _ in tokens])
        y.append(
            [
                label if scheme == "IOB2" else label.removeprefix("B-").removeprefix("I-")
                for _, label in tokens
            ]
        )
    return X, y
