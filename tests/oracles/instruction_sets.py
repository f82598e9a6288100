"""Runs the same computation with each instruction set, each in its own process."""

import os
import pickle
import subprocess
import sys
from typing import Any

SCRIPT = """
import importlib.util, pickle, sys
sys.path.insert(0, sys.argv[1])
spec = importlib.util.spec_from_file_location("cases", sys.argv[2])
module = importlib.util.module_from_spec(spec)
sys.modules["cases"] = module
spec.loader.exec_module(module)
from crfkit import _native
sys.stdout.buffer.write(pickle.dumps((_native.isa(), getattr(module, sys.argv[3])())))
"""


def on_each_instruction_set(file: str, function: str) -> dict[str, Any]:
    """Return the results of a function of a test file by instruction set, including baseline."""
    found = {}
    for isa in ("baseline", "avx2", "avx512"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, os.path.dirname(__file__), file, function],
            env={**os.environ, "CRFKIT_ISA": isa},
            capture_output=True,
            check=True,
        )
        used, result = pickle.loads(run.stdout)
        found[used] = result
    assert "baseline" in found
    return found
