"""Files in and out."""

from .columns import read_columns, stream_columns
from .model_file import read_model, write_model
from .opening import open_input, open_output

__all__ = ["open_input", "open_output", "read_columns", "read_model", "stream_columns", "write_model"]
