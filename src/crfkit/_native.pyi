"""Types of the C++ core. Private: its functions change without notice."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np
import numpy.typing as npt

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
    X: object, vocabulary: Vocabulary, grow: bool
) -> tuple[
    npt.NDArray[np.int64],  # offsets [N+1]
    npt.NDArray[np.int64],  # indptr [ΣT+1]
    npt.NDArray[np.int32],  # indices [nnz]
    npt.NDArray[np.float64] | None,  # values [nnz]
    int,  # A
]: ...
