"""The palette: readable text, colours that people with any colour vision tell apart, places that stay."""

import numpy as np
import pytest

from crfkit.report.colours import DARK, LIGHT, N_COLOURS, places_of

XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHT = {
    "normal": (1, 0, 0, 0, 1, 0, 0, 0, 1),
    "protanopia": (
        0.152286,
        1.052583,
        -0.204868,
        0.114503,
        0.786281,
        0.099216,
        -0.003882,
        -0.048116,
        1.051998,
    ),
    "deuteranopia": (
        0.367322,
        0.860646,
        -0.227968,
        0.280085,
        0.672501,
        0.047413,
        -0.011820,
        0.042940,
        0.968881,
    ),
    "tritanopia": (
        1.255528,
        -0.076749,
        -0.178779,
        -0.078411,
        0.930809,
        0.147602,
        0.004733,
        0.691367,
        0.303900,
    ),
}


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def linear(values):
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """Return the contrast of two colours [3] by WCAG 2."""
    low, high = sorted(float(linear(one) @ XYZ[1]) for one in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(values):
    """Return linear RGB [..., 3] as CIELAB."""
    t = values @ XYZ.T / XYZ.sum(axis=1)
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=-1)


def test_the_formulas():
    assert contrast(rgb("#000000"), rgb("#ffffff")) == pytest.approx(21)
    assert contrast(rgb("#777777"), rgb("#ffffff")) == pytest.approx(4.48, abs=0.01)
    assert lab(np.ones((1, 3)))[0] == pytest.approx([100, 0, 0], abs=0.01)


@pytest.mark.parametrize("paper", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_readable_at_every_strength(paper):
    text, page = rgb(paper.text), rgb(paper.background)
    for fill in paper.fills:
        for share in np.linspace(0, 1, 11):
            assert contrast(text, share * rgb(fill) + (1 - share) * page) >= 4.5
    assert contrast(rgb(paper.dim), page) >= 4.5


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("paper", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_differ_for_every_eye(paper, sight):
    """A difference of 2.3 is just noticeable; each span has a fill and an edge."""
    fills = linear(np.array([rgb(fill) for fill in paper.fills]))
    seen = lab(np.clip(fills @ np.reshape(SIGHT[sight], (3, 3)).T, 0, 1))
    far = np.linalg.norm(seen[:, None] - seen[None], axis=-1)
    assert far[np.triu_indices(N_COLOURS, 1)].min() > 12


def test_places_stay():
    few, more = places_of(["PER", "street"]), places_of(["street", "PER", "ORG", "MISC", "DATE", "x", "y"])
    assert few.items() <= more.items()
    assert places_of(["LOC"])["LOC"] == places_of(["street", "NP", "LOC"])["LOC"]  # names before all others
    assert places_of(["y", "x"]) == places_of(["x", "y", "x"])
    many = places_of(f"type {i}" for i in range(25))
    assert sorted(many.values())[:20] == list(range(20))
    assert len(set(many.values())) == 25
    assert places_of([]) == {}
    assert len(places_of(["\ud800"])) == 1
