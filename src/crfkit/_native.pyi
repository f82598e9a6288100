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

def lattice_marginals(
    batch: LatticeBatch,
    log_z: npt.NDArray[np.float64],
    node: npt.NDArray[np.float64] | None,
    pair: npt.NDArray[np.float64] | None,
    entropy: npt.NDArray[np.float64] | None,
    dead: npt.NDArray[np.int64],
    n_threads: int,
) -> None: ...
def lattice_expected_counts(
    batch: LatticeBatch,
    weights: npt.NDArray[np.float64],
    log_z: npt.NDArray[np.float64],
    ends: npt.NDArray[np.float64],
    tables: list[npt.NDArray[np.float64]],
    dead: npt.NDArray[np.int64],
    n_threads: int,
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
