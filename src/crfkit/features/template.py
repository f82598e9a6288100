"""Templates: which cells of a column file make which attributes, in CRF++'s or Wapiti's language.

``template_crfpp.py`` and ``template_wapiti.py`` define the two languages, docs/templates.md has examples.
Expansion is native and threaded (``native/program``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from crfkit.data.columns import Columns
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features import template_crfpp, template_wapiti
from crfkit.features.program import FeatureProgram
from crfkit.features.program_code import Part, ProgramCode, flag, number, step, text
from crfkit.features.template_syntax import Line, Macro
from crfkit.io.opening import open_input, source_name
from crfkit.parameters import unstorable

# First letters and macros that CRF++ does not have.
_ONLY_WAPITI = re.compile(r"^[ub*]|^[^#\n].*%(?:[tmTMX]\[|x\[@)", re.MULTILINE)
_PARSERS: dict[str, Callable[[str, str], list[Line]]] = {
    "crf++": template_crfpp.parse_crfpp,
    "wapiti": template_wapiti.parse_wapiti,
}
# Prefixes of the attributes that score pairs of labels.
_PREFIXES = {"crf++": {"B": "edge"}, "wapiti": {"b": "edge", "*": "both"}}
_OUTSIDE = {
    "crf++": (template_crfpp.BEFORE, template_crfpp.AFTER),
    "wapiti": (template_wapiti.BEFORE, template_wapiti.AFTER),
}
_MOST_LINES = 5000  # each is compared with all the others
_MOST_MACROS = 50_000  # in all lines: each is expanded at every position


@dataclass(frozen=True, repr=False)
class Template:
    """A template. Equal templates have the same text and dialect.

    >>> template = Template.parse("U0:%x[-1,0]/%x[0,0]")
    >>> template.attributes([["the"], ["dog"]])
    [['U0:_B-1/the'], ['U0:the/dog']]
    """

    text: str
    dialect: str = "auto"  # afterwards "crf++" or "wapiti"
    source: str = field(default="template", compare=False)  # for messages
    n_columns: int = field(init=False, compare=False)  # columns it needs: the largest column index + 1
    _lines: list[Line] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(
                f"a template is a str, got {type(self.text).__name__}; Template.read takes a path"
            )
        lost = unstorable(self.text)
        if lost is not None:
            raise InputError(f"{self.source}: the template has {lost}")
        text = self.text.removeprefix("\ufeff")
        dialect = self.dialect
        if dialect == "auto":
            dialect = "wapiti" if _ONLY_WAPITI.search(text) else "crf++"
        if dialect not in _PARSERS:
            raise InputError(f"dialect must be 'crf++', 'wapiti' or 'auto', got {dialect!r}")
        lines = _PARSERS[dialect](text, self.source)
        if not lines:
            raise InputError(
                f"{self.source}: the template has no lines; write at least one, such as U00:%x[0,0]"
            )
        if len(lines) > _MOST_LINES:
            raise InputError(
                f"{self.source}:{lines[_MOST_LINES].number}: a template has at most {_MOST_LINES} lines, "
                f"this one has {len(lines)}"
            )
        n_macros = sum(len(line.macros) for line in lines)
        if n_macros > _MOST_MACROS:
            raise InputError(
                f"{self.source}: a template has at most {_MOST_MACROS} macros such as %x[0,0], this one has "
                f"{n_macros}"
            )
        n_columns = max((macro.column + 1 for line in lines for macro in line.macros), default=0)
        for name, value in (
            ("text", text),
            ("dialect", dialect),
            ("n_columns", n_columns),
            ("_lines", lines),
        ):
            object.__setattr__(self, name, value)  # frozen from here on

    @classmethod
    def parse(cls, text: str, dialect: str = "auto", source: str = "template") -> Template:
        """Parse a template.

        Parameters
        ----------
        text : template lines.
        dialect : ``"crf++"``, ``"wapiti"``, or ``"auto"``: Wapiti if a line begins with a lower-case letter
            or ``*`` or has a macro that only Wapiti knows, otherwise CRF++.
        source : the name of the text in error messages.
        """
        return cls(text, dialect, source)

    @classmethod
    def read(cls, path: str | os.PathLike[str], dialect: str = "auto") -> Template:
        """Read a template from a UTF-8 file, or from standard input for ``-``."""
        name = source_name(path)
        with open_input(path) as file:
            content = file.read()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise InputError(f"{name}:{line}: not UTF-8 text; convert the template to UTF-8") from error
        return cls.parse(text, dialect, name)

    @classmethod
    def from_record(cls, record: Any, source: str) -> Template | None:
        """Return the template in the header of a file, as ``to_record`` makes it; None: there is none."""
        if record is None:
            return None
        if not isinstance(record, dict) or not all(
            isinstance(record.get(k), str) for k in ("dialect", "text")
        ):
            raise ModelFileError("its template is malformed")
        return cls.parse(record["text"], record["dialect"], source)

    def to_record(self) -> dict[str, str]:
        """Return dialect and text, as JSON values for the header of a file."""
        return {"dialect": self.dialect, "text": self.text}

    @cached_property
    def transitions(self) -> bool:
        """Whether it has an edge line without macros, such as a bare ``B``: plain label transitions.

        The first such line makes no attribute.
        """
        return self._plain is not None

    @cached_property
    def edge_attributes(self) -> dict[str, str]:
        """Prefixes of the attributes that score pairs of labels.

        The value is ``"edge"``, or ``"both"`` if they score single labels too.
        """
        scopes = {line.scope for line in self._making}
        return {prefix: scope for prefix, scope in _PREFIXES[self.dialect].items() if scope in scopes}

    @cached_property
    def single_cell_prefixes(self) -> tuple[str, ...]:
        """Prefixes of the attributes made of a single cell: ``U00:`` of ``U00:%x[0,0]``."""
        single = {_prefix(line) for line in self._making if line.scope == "node" and len(line.macros) == 1}
        others = {_prefix(line) for line in self._making if line.scope != "node" or len(line.macros) != 1}
        clash = next((p for p in sorted(single) if any(other.startswith(p) for other in others)), None)
        if clash is not None:
            raise InputError(
                f"{self.source}: the attributes that begin with {clash!r} are not all from one cell; begin "
                "every line with a distinct name, such as U00: (or set which attributes are items)"
            )
        return tuple(sorted(single))

    @cached_property
    def single_cells(self) -> dict[str, Macro]:
        """The cell by prefix, for lines that consist of a distinct prefix and one cell."""
        prefixes = [_prefix(line) for line in self._making]
        return {
            prefix: line.macros[0]
            for prefix, line in zip(prefixes, self._making, strict=True)
            if line.scope == "node"
            and line.macros
            and line.pieces == (prefix, *line.macros[:1])
            and sum(other.startswith(prefix) for other in prefixes) == 1
        }

    def encode(
        self, columns: Columns, vocabulary: Vocabulary, *, grow: bool, n_jobs: int | None = None
    ) -> Sequences:
        """Make the attributes at every position, as ids of the vocabulary.

        ``grow=True`` adds new attributes; their ids do not depend on ``n_jobs``. ``grow=False`` drops unknown
        ones. ``n_jobs=None`` uses all cores.
        """
        if not isinstance(columns, Columns):
            raise InputError(
                f"columns must be Columns, got {type(columns).__name__}; Columns.from_rows takes lists"
            )
        n_positions, n_columns = columns.ids.shape
        if n_positions and self.n_columns > n_columns:
            self._complain_of_columns(columns)
        cells = self.program.read(columns)
        return self.program.run(cells, vocabulary, grow=grow, n_jobs=n_jobs).sequences

    def attributes(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the attributes at each row of one sequence, as strings, to check a template."""
        vocabulary = Vocabulary()
        encoded = self.encode(Columns.from_rows([rows]), vocabulary, grow=True, n_jobs=1)
        names = vocabulary.strings()
        ids = encoded.indices.tolist()
        return [[names[i] for i in ids[start:stop]] for start, stop in pairwise(encoded.indptr.tolist())]

    def _complain_of_columns(self, columns: Columns) -> None:
        number, macro = next(
            (line.number, macro)
            for line in self._lines
            for macro in line.macros
            if macro.column >= columns.n_columns
        )
        raise InputError(
            f"{self.source}:{number}: {macro.text} reads column {macro.column}, but {columns.source} has "
            f"{columns.n_columns} columns (counted from 0, without the label)"
        )

    @cached_property
    def _plain(self) -> Line | None:
        """The line that stands for label transitions."""
        return next((line for line in self._lines if line.scope == "edge" and not line.macros), None)

    @property
    def _making(self) -> list[Line]:
        """The lines that make attributes."""
        return [line for line in self._lines if line is not self._plain]

    @cached_property
    def program(self) -> FeatureProgram:
        """The template as a feature program."""
        code = ProgramCode()
        for line in self._making:
            literals, parts = [""], []
            for piece in line.pieces:
                if isinstance(piece, str):
                    literals[-1] += piece
                else:
                    parts.append(Part(_node(code, piece), piece.row, anchor=piece.anchor))
                    literals.append("")
            # CRF++ makes attributes of label pairs where there is a pair; Wapiti also at the first position,
            # where they have no effect.
            code.line(literals, parts, from_second=self.dialect == "crf++" and line.scope == "edge")
        before, after = _OUTSIDE[self.dialect]
        return FeatureProgram(code.finish(before, after, borders_pass=True))

    def __repr__(self) -> str:
        n = len(self._making)
        lines = f"{n} line" if n == 1 else f"{n} lines"
        transitions = " and transitions" if self.transitions else ""
        return f"<Template, {self.dialect}: {lines}{transitions}, from {self.source!r}>"

    def __reduce__(self) -> tuple[type[Template], tuple[str, str, str]]:
        return (Template, (self.text, self.dialect, self.source))


def _prefix(line: Line) -> str:
    """Return the prefix of all attributes of a line."""
    first = line.pieces[0] if line.pieces else ""
    return first if isinstance(first, str) else ""


def _node(code: ProgramCode, macro: Macro) -> int:
    """Add the text of a macro to a program."""
    cell = code.input("text", macro.column, f"column {macro.column}")
    node = code.node("input", number(cell))
    if macro.command == "x":
        return code.node("step", number(node), step("ascii_lower")) if macro.fold else node
    kind = "match" if macro.command == "t" else "find"
    return code.node("step", number(node), step(kind, flag(macro.fold), text(macro.pattern)))
