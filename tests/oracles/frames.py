"""A data frame of no particular library."""

from types import SimpleNamespace
from typing import Any


class Frame:
    """The part of the interface of pandas and polars data frames that crfkit uses."""

    def __init__(self, **columns: list[Any]) -> None:
        self.content = columns
        self.columns = list(columns)
        self.dtypes = ["object"] * len(columns)

    def __getitem__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(to_list=lambda: self.content[name])
