"""Files in and out."""

from .columns import read_columns, stream_columns
from .crfsuite_data import read_crfsuite, stream_crfsuite, write_crfsuite
from .csv_data import read_csv, stream_csv
from .mallet_data import read_mallet, stream_mallet, write_mallet
from .model_file import read_model, write_model
from .opening import open_input, open_output

__all__ = [
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
    "write_crfsuite",
    "write_mallet",
    "write_model",
]
