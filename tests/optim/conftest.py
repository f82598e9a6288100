"""Settings for the tests of optimisers."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Use one BLAS thread: for tiny matrices on a busy machine, threads would only wait for each other."""
    with threadpool_limits(1):
        yield
