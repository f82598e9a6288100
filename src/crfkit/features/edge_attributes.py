"""Which attributes score pairs of neighbouring labels.

An attribute of position t scores its label y[t]; an edge attribute scores the pair (y[t-1], y[t]), as the
``B`` templates of CRF++ and Wapiti do. Edge attributes are identified by the prefixes of their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.features.template import Template

STATE = 1  # scores labels
EDGE = 2  # scores label pairs

_KINDS = {"edge": EDGE, "both": STATE | EDGE}


def edge_prefixes(edge_attributes: Any, template: Template | None = None) -> dict[str, str]:
    """Return a prefix, several prefixes, or a mapping of prefixes to "edge" or "both" as such a mapping.

    Those of the template's B lines are added.
    """
    own = {} if template is None else template.edge_attributes
    if edge_attributes is None:
        return {**own}
    if isinstance(edge_attributes, str):
        edge_attributes = (edge_attributes,)
    if not isinstance(edge_attributes, Mapping):
        if not isinstance(edge_attributes, (tuple, list)):
            raise InputError(
                "edge_attributes must be a prefix of attribute names, a tuple of prefixes, or a dict of "
                f"prefix to 'edge' or 'both'; got {edge_attributes!r}"
            )
        edge_attributes = dict.fromkeys(edge_attributes, "edge")
    for prefix, kind in edge_attributes.items():
        if not isinstance(prefix, str) or not prefix or kind not in _KINDS:
            raise InputError(
                "edge_attributes must map prefixes of attribute names to 'edge' (only label pairs) or "
                f"'both' (labels as well); got {prefix!r}: {kind!r}"
            )
    return {**edge_attributes, **own}


def attribute_kinds(vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> npt.NDArray[np.uint8] | None:
    """Return what each attribute scores [A]: STATE, EDGE or both; None if no prefixes are given."""
    if not prefixes:
        return None
    arena, offsets, _ = vocabulary.native.arrays()
    begin, length = offsets[:-1], np.diff(offsets)  # [A]
    kinds = np.full(len(vocabulary), STATE, np.uint8)
    for prefix, kind in prefixes.items():
        name = prefix.encode()
        match = length >= len(name)
        for i, byte in enumerate(name):
            match[match] = arena[begin[match] + i] == byte
        kinds[match] = _KINDS[kind]
    return kinds
