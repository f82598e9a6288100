"""FASTA files of DNA: contigs by name, gzipped or not."""

from __future__ import annotations

from collections.abc import Iterator

from crfkit.exceptions import InputError
from crfkit.io.opening import Source, open_input, source_name


def stream_fasta(source: Source) -> Iterator[tuple[str, bytes]]:
    """Yield (name, sequence) of each record: the first word of the header, and the sequence unchanged.

    Lines may have any length, upper or lower case, LF or CRLF. Every record needs a name of its own.
    """
    where = source_name(source)
    name: str | None = None
    begun = 0
    parts: list[bytes] = []
    seen: set[str] = set()
    with open_input(source) as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if line.startswith(b">"):
                if name is not None:
                    yield name, _joined(parts, name, where, begun)
                words = line[1:].split()
                if not words:
                    raise InputError(f"{where}:{number}: a header without a name; expected '>name …'")
                name, begun, parts = words[0].decode("utf-8", "replace"), number, []
                if name in seen:
                    raise InputError(f"{where}:{number}: the name {name!r} occurs twice")
                seen.add(name)
            elif line and not line.startswith(b";"):
                if name is None:
                    raise InputError(
                        f"{where}:{number}: expected a FASTA header '>name' first, "
                        f"got {line[:20].decode('utf-8', 'replace')!r}"
                    )
                _check(line, where, number)
                parts.append(line)
        if name is None:
            raise InputError(f"{where}: no FASTA record ('>name') in the file")
        yield name, _joined(parts, name, where, begun)


def read_fasta(source: Source) -> dict[str, bytes]:
    """Return all records, {name: sequence}."""
    return dict(stream_fasta(source))


_DNA = b"ACGTUNRYSWKMBDHVacgtunryswkmbdhv"


def _check(line: bytes, where: str, number: int) -> None:
    strange = line.translate(None, _DNA)
    if strange:
        letter = chr(strange[0])
        raise InputError(
            f"{where}:{number}: expected DNA (A, C, G, T, N or another IUPAC code), got {letter!r} "
            f"in column {line.index(strange[:1]) + 1}"
        )


def _joined(parts: list[bytes], name: str, where: str, begun: int) -> bytes:
    if not parts:
        raise InputError(f"{where}:{begun}: the record {name!r} has no sequence")
    return b"".join(parts)
