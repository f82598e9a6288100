"""Files in and out."""

from .columns import read_columns
from .model_file import read_model, write_model

__all__ = ["read_columns", "read_model", "write_model"]
