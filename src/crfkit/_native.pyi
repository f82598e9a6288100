"""Types of the C++ core. Private: its functions change without notice."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

def isa() -> str: ...

# chain
class LatticeBatch:
    def __init__(
        self,
        node: npt.NDArray[np.float64],
        edges: list[npt.NDArray[np.float64]],
        start: npt.NDArray[np.float64] | None,
        end: npt.NDArray[np.float64] | None,
        offsets: npt.NDArray[np.int64],
    ) -> None: ...

def lattice_posterior(
    batch: LatticeBatch,
    log_z: npt.NDArray[np.float64],
    dead: npt.NDArray[np.int64],
    n_threads: int,
    weights: npt.NDArray[np.float64] | None = None,
    node: npt.NDArray[np.float64] | None = None,
    pair: npt.NDArray[np.float64] | None = None,
    window: npt.NDArray[np.float64] | None = None,
    entropy: npt.NDArray[np.float64] | None = None,
    ends: npt.NDArray[np.float64] | None = None,
    tables: list[npt.NDArray[np.float64]] = ...,
) -> None: ...
def lattice_viterbi(
    batch: LatticeBatch,
    labels: npt.NDArray[np.int32],
    score: npt.NDArray[np.float64],
    dead: npt.NDArray[np.int64],
    n_threads: int,
) -> None: ...
def lattice_path_score(
    batch: LatticeBatch, labels: npt.NDArray[np.int32], score: npt.NDArray[np.float64], n_threads: int
) -> None: ...
def lattice_sample(
    batch: LatticeBatch, seed: int, labels: npt.NDArray[np.int32], dead: npt.NDArray[np.int64], n_threads: int
) -> None: ...
def lattice_nbest(
    batch: LatticeBatch, k: int, dead: npt.NDArray[np.int64], n_threads: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.int64]]: ...

# linear
class LinearObjective:
    def __init__(
        self,
        offsets: npt.NDArray[np.int64],
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        values: npt.NDArray[np.float64] | None,
        state_indptr: npt.NDArray[np.int64],
        state_labels: npt.NDArray[np.int32],
        labels: npt.NDArray[np.int32],
        allowed: npt.NDArray[np.uint8] | None,
        weights: npt.NDArray[np.float64] | None,
        log_cost: npt.NDArray[np.float32] | None,
        free_edges: npt.NDArray[np.uint8],
        free_edges2: npt.NDArray[np.uint8] | None,
        pair_indptr: npt.NDArray[np.int64] | None,
        pair_ids: npt.NDArray[np.int32] | None,
        kinds: npt.NDArray[np.int32] | None,
        permitted: npt.NDArray[np.uint8] | None,
        n_labels: int,
        n_threads: int,
        as_given: bool = False,
    ) -> None: ...
    @property
    def n_parameters(self) -> int: ...
    def show(self, positions: int) -> None: ...
    def penalty_scale(self, out: npt.NDArray[np.float64]) -> None: ...
    def evaluate(
        self,
        theta: npt.NDArray[np.float64],
        gradient: npt.NDArray[np.float64],
        ids: npt.NDArray[np.int32] | None = None,
        diagonal: npt.NDArray[np.float64] | None = None,
    ) -> float: ...
    def begin_steps(self, theta: npt.NDArray[np.float64]) -> None: ...
    def run_steps(self, ids: npt.NDArray[np.int32], step0: float, c2: float, t: float) -> float: ...
    def end_steps(self, theta: npt.NDArray[np.float64]) -> None: ...
    def to_features(self, theta: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> None: ...
    def from_features(self, weights: npt.NDArray[np.float64], theta: npt.NDArray[np.float64]) -> None: ...

class ValidationSets:
    def __init__(
        self,
        objective: LinearObjective,
        first: npt.NDArray[np.int64],
        last: npt.NDArray[np.int64],
        sets: npt.NDArray[np.int32],
        n_sets: int,
        margin: float,
    ) -> None: ...
    def decode(self, theta: npt.NDArray[np.float64], h: npt.NDArray[np.float64]) -> None: ...
    def best(self, out: npt.NDArray[np.int32]) -> None: ...
    def envelope(self, coefficients: npt.NDArray[np.float64], gradient: npt.NDArray[np.float64]) -> None: ...
    def flip(
        self, coefficients: npt.NDArray[np.float64], c: float, gradient: npt.NDArray[np.float64]
    ) -> None: ...
    def smooth(
        self,
        theta: npt.NDArray[np.float64],
        temperature: float,
        coefficients: npt.NDArray[np.float64],
        h: npt.NDArray[np.float64],
        gradient: npt.NDArray[np.float64],
    ) -> None: ...

def state_features(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    allowed: npt.NDArray[np.uint8] | None,
    n_attributes: int,
    n_labels: int,
    min_count: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...

class LinearScorer:
    def __init__(
        self,
        state_indptr: npt.NDArray[np.int64],
        state_labels: npt.NDArray[np.int32],
        n_labels: int,
    ) -> None: ...
    def scores(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        values: npt.NDArray[np.float64] | None,
        weights: npt.NDArray[np.float64],
        node: npt.NDArray[np.float64],
        n_threads: int,
    ) -> None: ...
    def backward(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        values: npt.NDArray[np.float64] | None,
        d_node: npt.NDArray[np.float64],
        gradient: npt.NDArray[np.float64],
    ) -> None: ...

# optim
class CurvatureHistory:
    def __init__(self, memory: int, n_variables: int, n_threads: int) -> None: ...
    def __len__(self) -> int: ...
    def forget(self) -> None: ...
    def set_base(self, base: npt.NDArray[np.float64]) -> None: ...
    def add(self, s: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None: ...
    def multiply(self, g: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None: ...

# ingest

HASH_VERSION: int

@final
class Vocabulary:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @staticmethod
    def attach(
        arena: npt.NDArray[Any],  # uint8 [bytes]
        offsets: npt.NDArray[Any],  # int64 [n+1]
        slots: npt.NDArray[Any],  # uint32 [2^b]
    ) -> Vocabulary: ...
    def strings(self, start: int, stop: int) -> list[str]: ...
    def find(self, names: Iterable[str | bytes]) -> npt.NDArray[np.int32]: ...
    def add(self, names: Iterable[str | bytes]) -> npt.NDArray[np.int32]: ...
    def add_columns(self, n: int) -> None: ...
    def has_columns(self) -> bool: ...
    def arrays(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.uint32]]: ...

def encode_objects(
    X: object, vocabulary: Vocabulary, grow: bool, keep_zeros: bool = False
) -> tuple[
    npt.NDArray[np.int64],  # offsets [N+1]
    npt.NDArray[np.int64],  # indptr [ΣT+1]
    npt.NDArray[np.int32],  # indices [nnz]
    npt.NDArray[np.float64] | None,  # values [nnz]
    int,  # A
]: ...

# columns
ColumnArrays: TypeAlias = tuple[
    Vocabulary,  # the distinct cells
    npt.NDArray[np.int32],  # ids [ΣT, K]
    npt.NDArray[np.int64],  # offsets [N+1]
    npt.NDArray[np.int64],  # lines [ΣT]
]

@final
class ColumnParser:
    def __init__(self, source: str, at_tabs: bool) -> None: ...
    def feed(self, piece: bytes) -> None: ...
    def finish(self) -> None: ...
    @property
    def ready(self) -> int: ...
    def take(self) -> ColumnArrays: ...

def columns_from_rows(sentences: object) -> ColumnArrays: ...
def columns_text(
    cells: Vocabulary,
    ids: npt.NDArray[np.int32],  # [ΣT, K]
    offsets: npt.NDArray[np.int64],  # [N+1]
    names: list[str],
    codes: npt.NDArray[np.int32],  # [ΣT, E], places in names
    separator: str,
) -> bytes: ...
def renumber(
    ids: npt.NDArray[np.int32], n_known: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...

# templates
TemplateMacro: TypeAlias = tuple[
    bytes, int, int, int, bool, bytes
]  # command, anchor, row, column, fold, pattern

@final
class TemplateProgram:
    def __init__(
        self,
        lines: list[tuple[bool, list[bytes | TemplateMacro]]],  # from the second position on, pieces
        before: list[bytes],
        after: list[bytes],
    ) -> None: ...
    def encode(
        self,
        cells: Vocabulary,
        ids: npt.NDArray[np.int32],  # [ΣT, K]
        offsets: npt.NDArray[np.int64],  # [N+1]
        vocabulary: Vocabulary,
        grow: bool,
        n_threads: int,
    ) -> tuple[
        npt.NDArray[np.int64],  # indptr [ΣT+1]
        npt.NDArray[np.int32],  # indices [nnz]
        npt.NDArray[np.float64] | None,  # values [nnz]
        int,  # A
    ]: ...

# item_text
@final
class ItemText:
    def __init__(self, format: str, labels: str, source: str) -> None: ...
    def read(
        self, chunks: Iterator[bytes], vocabulary: Vocabulary, grow: bool, positions: int, prompt: bool
    ) -> (
        tuple[
            npt.NDArray[np.int64],  # offsets [N+1]
            npt.NDArray[np.int64],  # indptr [ΣT+1]
            npt.NDArray[np.int32],  # indices [nnz]
            npt.NDArray[np.float64] | None,  # values [nnz]
            int,  # A
            npt.NDArray[np.int32],  # labels [ΣT]
            npt.NDArray[np.float64] | None,  # weights [N]
        ]
        | None
    ): ...
    def label_names(self, start: int) -> list[str]: ...
    @property
    def carriage_return_line(self) -> int: ...
    @property
    def colon_label_line(self) -> int: ...

def write_items(
    format: str,
    offsets: npt.NDArray[np.int64],
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64] | None,
    vocabulary: Vocabulary,
    labels: npt.NDArray[np.int32] | None,
    names: Vocabulary,
    weights: npt.NDArray[np.float64] | None,
    numbered_from: int,
) -> bytes: ...

# foreign
def cqdb_names(
    chunk: npt.NDArray[np.uint8], n: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def cqdb_chunk(arena: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]: ...
def netstrings(
    text: npt.NDArray[np.uint8], start: int, n: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], int]: ...
def text_weights(
    text: npt.NDArray[np.uint8], start: int, n: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64], int]: ...
def numbered_names(
    text: npt.NDArray[np.uint8], start: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.int64], int]: ...
def double_array_keys(
    units: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def vocabulary_of(arena: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], cut: bool) -> Vocabulary: ...

# genes
class GeneBatch:
    def __init__(
        self,
        offsets: npt.NDArray[np.int64],
        codes: npt.NDArray[np.uint8],
        content: npt.NDArray[np.float64],
        sites: npt.NDArray[np.float64],
        codes2: npt.NDArray[np.uint8] | None,
        content2: npt.NDArray[np.float64] | None,
        sites2: npt.NDArray[np.float64] | None,
        exon: npt.NDArray[np.float64],
        intron: npt.NDArray[np.float64],
        min_intron: int,
        split_stop: float,
        partial: float,
    ) -> None: ...
    def posteriors(
        self,
        log_z: npt.NDArray[np.float64],
        content: npt.NDArray[np.float64],
        sites: npt.NDArray[np.float64],
        content2: npt.NDArray[np.float64] | None,
        sites2: npt.NDArray[np.float64] | None,
        exon: npt.NDArray[np.float64],
        intron: npt.NDArray[np.float64],
        n_threads: int,
    ) -> None: ...
    def best(self, scored: bool, n_threads: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]: ...

# selection
@final
class CandidateGains:
    def __init__(
        self,
        offsets: npt.NDArray[np.int64],  # [N+1]
        labels: npt.NDArray[np.int32],  # [ΣT]
        weights: npt.NDArray[np.float64] | None,  # [N]
        node: npt.NDArray[np.float64],  # [ΣT, L]
        edge: npt.NDArray[np.float64],  # [L, L]
        c2: float,
        n_threads: int,
    ) -> None: ...
    def best(
        self,
        # K candidates: a transition's first label or -1, its label, its attribute
        previous: npt.NDArray[np.int32],
        to: npt.NDArray[np.int32],
        attribute: npt.NDArray[np.int32],
        indptr: npt.NDArray[np.int64],  # [A+1]
        positions: npt.NDArray[np.int64],  # [nnz] of each attribute
        values: npt.NDArray[np.float64] | None,  # [nnz]
        approximate: bool,
        gains: npt.NDArray[np.float64],  # [K], written
        weights: npt.NDArray[np.float64],  # [K] in: where to start; out: where the gain is
    ) -> None: ...

# mining
class RuleMiner:
    def __init__(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        labels: npt.NDArray[np.int32],
        marked: npt.NDArray[np.uint8] | None,
        n_items: int,
        n_labels: int,
        min_support: int,
        max_support: int,
        min_confidence: float,
        min_length: int,
        max_length: int,
        important: bool,
    ) -> None: ...
    @property
    def n_blocks(self) -> int: ...
    def run(self, first: int, last: int, limit: int, n_threads: int) -> tuple[npt.NDArray[Any], ...]: ...

def minimal_rules(
    first: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    confidence: npt.NDArray[np.float64],
    n_threads: int,
) -> npt.NDArray[np.uint8]: ...

class VoteCounter:
    def __init__(
        self,
        labels: npt.NDArray[np.int32],
        strength: npt.NDArray[np.float64],
        first: npt.NDArray[np.int64],
        items: npt.NDArray[np.int32],
        kind_of_item: npt.NDArray[np.int32],
        kind_of_length: npt.NDArray[np.int32],
        n_kinds: int,
        n_labels: int,
    ) -> None: ...
    def count(
        self, first: npt.NDArray[np.int64], found: npt.NDArray[np.int32], n_threads: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64]]: ...

class RuleMatcher:
    def __init__(self, first: npt.NDArray[np.int64], items: npt.NDArray[np.int32], n_items: int) -> None: ...
    def match(
        self, indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], n_threads: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...

# trees
class Forest:
    def __init__(
        self,
        feature: npt.NDArray[np.int32],
        threshold: npt.NDArray[np.float64],
        flags: npt.NDArray[np.uint8],
        left: npt.NDArray[np.int32],
        right: npt.NDArray[np.int32],
        set_indptr: npt.NDArray[np.int64],
        set_words: npt.NDArray[np.uint32],
        leaf: npt.NDArray[np.float64],
        root: npt.NDArray[np.int32],
        label: npt.NDArray[np.int32],
        n_features: int,
        n_labels: int,
        context: bool,
    ) -> None: ...
    def add_scores(
        self,
        first: int,
        last: int,
        values: npt.NDArray[np.float64],
        outside: npt.NDArray[np.float64],
        offsets: npt.NDArray[np.int64],
        before: int,
        width: int,
        node: npt.NDArray[np.float64],
        edge: npt.NDArray[np.float64] | None,
        n_threads: int,
    ) -> None: ...
