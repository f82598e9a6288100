"""A data frame of nobody's."""

from types import SimpleNamespace
from typing import Any


class Frame:
    """What pandas and polars data frames have in common, as far as it is used."""

    def __init__(self, **columns: list[Any]) -> None:
        self.content = columns
        self.columns = list(columns)
        self.dtypes = ["object"] * len(columns)

    def __getitem__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(to_list=lambda: self.content[name])
