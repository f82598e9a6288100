"""Files in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from crfkit.io.columns import read_columns, stream_columns, write_columns
    from crfkit.io.crfsuite_data import read_crfsuite, stream_crfsuite, write_crfsuite
    from crfkit.io.csv_data import read_csv, stream_csv, write_csv
    from crfkit.io.formats import FORMATS
    from crfkit.io.mallet_data import read_mallet, stream_mallet, write_mallet
    from crfkit.io.model_file import read_model, write_model
    from crfkit.io.opening import open_input, open_output

__all__ = [
    "FORMATS",
    "open_input",
    "open_output",
    "read_columns",
    "read_crfsuite",
    "read_csv",
    "read_mallet",
    "read_model",
    "stream_columns",
    "stream_crfsuite",
    "stream_csv",
    "stream_mallet",
    "write_columns",
    "write_crfsuite",
    "write_csv",
    "write_mallet",
    "write_model",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "FORMATS": "crfkit.io.formats",
        "open_input": "crfkit.io.opening",
        "open_output": "crfkit.io.opening",
        "read_columns": "crfkit.io.columns",
        "read_crfsuite": "crfkit.io.crfsuite_data",
        "read_csv": "crfkit.io.csv_data",
        "read_mallet": "crfkit.io.mallet_data",
        "read_model": "crfkit.io.model_file",
        "stream_columns": "crfkit.io.columns",
        "stream_crfsuite": "crfkit.io.crfsuite_data",
        "stream_csv": "crfkit.io.csv_data",
        "stream_mallet": "crfkit.io.mallet_data",
        "write_columns": "crfkit.io.columns",
        "write_crfsuite": "crfkit.io.crfsuite_data",
        "write_csv": "crfkit.io.csv_data",
        "write_mallet": "crfkit.io.mallet_data",
        "write_model": "crfkit.io.model_file",
    },
)
