"""General scales: factors of the penalty by the name of an attribute, for data too small to find its own.

They are means of the scales that ``c2="auto", penalty_groups="templates"`` found on parts of CoNLL-2000
(English chunks); docs/penalties.md says how they do on other data. To learn them anew:

    python benchmarks/papers/penalty_scales.py learn
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from crfkit.exceptions import InputError

GENERAL = "general"

# token_features
_TOKENS: Mapping[str, float] = {
    "transitions": 0.13,
    "-1:lower": 0.27,
    "lower": 0.37,
    "shape": 0.4,
    "names without a value": 0.47,
    "bare": 0.5,
    "-1|0:lower": 0.79,
    "word": 0.88,
    "ends": 1.1,
    "+1:lower": 1.2,
    "digits": 1.2,
    "suffix": 1.3,
    "-1:shape": 1.6,
    "+1:shape": 2.1,
    "-2:lower": 2.2,
    "+2:shape": 2.6,
    "prefix": 2.7,
    "-2:shape": 3.1,
    "+2:lower": 3.8,
}
# The default features of a table with one column of words, and with a column of classes besides.
_WORDS: Mapping[str, float] = {
    "transitions": 0.11,
    "w.lower[-1]": 0.19,
    "w.short_shape": 0.3,
    "w.lower": 0.44,
    "w.lower.bare.suffix4": 0.52,
    "w.lower.bare": 0.56,
    "w.lower.bare.prefix3": 0.64,
    "names without a value": 0.65,
    "w.lower[-1]|w.lower": 0.79,
    "w.marks": 0.84,
    "w": 0.96,
    "w.lower.bare.suffix2": 1,
    "w.lower.bare.suffix3": 1.1,
    "w.lower[1]": 1.1,
    "w.short_shape[-1]": 1.3,
    "w.lower|w.lower[1]": 1.5,
    "w.lower.bare.prefix2": 1.6,
    "w.short_shape[1]": 1.8,
    "w.lower.bare.suffix1": 2,
    "w.lower[-2]": 2,
    "w.short_shape[2]": 2.5,
    "w.lower.bare.prefix1": 2.7,
    "w.shape": 2.9,
    "w.short_shape[-2]": 2.9,
    "w.lower[2]": 3.2,
}
_CLASSES: Mapping[str, float] = {
    "transitions": 0.07,
    "c1": 0.077,
    "c1[-1]": 0.26,
    "w.lower[-1]": 0.34,
    "c1[-1]|c1": 0.54,
    "w.lower": 0.59,
    "w.lower[-1]|w.lower": 0.59,
    "names without a value": 0.61,
    "w.lower.bare.prefix3": 0.64,
    "w.lower.bare": 0.67,
    "w.lower.bare.prefix2": 0.74,
    "w": 0.82,
    "w.short_shape": 0.85,
    "w.marks": 0.88,
    "w.lower|w.lower[1]": 0.9,
    "w.lower.bare.suffix4": 0.91,
    "w.lower.bare.suffix3": 1.1,
    "w.lower[1]": 1.3,
    "c1|c1[1]": 1.3,
    "c1[1]": 1.4,
    "w.short_shape[-1]": 1.4,
    "c1[-2]|c1[-1]|c1": 1.5,
    "c1[-1]|c1|c1[1]": 1.6,
    "w.short_shape[-2]": 1.7,
    "c1[-2]|c1[-1]": 1.7,
    "w.lower.bare.suffix1": 1.7,
    "w.lower[-2]": 1.7,
    "w.lower.bare.suffix2": 1.7,
    "w.short_shape[2]": 1.7,
    "w.short_shape[1]": 1.8,
    "w.lower.bare.prefix1": 1.8,
    "c1|c1[1]|c1[2]": 1.9,
    "c1[-2]": 2.2,
    "w.lower[2]": 2.2,
    "c1[1]|c1[2]": 2.4,
    "c1[2]": 2.8,
    "w.shape": 2.9,
}


def general_scales(names: Collection[str]) -> Mapping[str, float]:
    """Return the general scales for features whose groups have these names."""
    for scales, tells in ((_CLASSES, "c1"), (_WORDS, "w.lower"), (_TOKENS, "lower")):
        if tells in names:
            return scales
    raise InputError(
        "penalty_groups='general' knows the attributes of token_features and the default features of tables, "
        f"but these are others (groups such as {', '.join(sorted(names)[:4])}): take 'templates'"
    )
