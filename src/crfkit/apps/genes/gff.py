"""Reading GFF3 and GTF, and writing GFF3: coding exons of transcripts.

The reader uses the CDS lines. In GFF3, ``Parent`` names their transcripts (separated by commas) and the gene
of a transcript; a CDS without parent is a transcript named by its ``ID``. Beside a transcript, parents that
are proteins or that the file does not have are ignored: TAIR's files name the protein of a transcript as a
second parent. In GTF, ``transcript_id`` and ``gene_id`` name them, and ``stop_codon`` lines, which are not
part of CDS lines there, are added. The writer writes gene, mRNA, exon and CDS lines with phases, and with
scores if there are any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, NamedTuple
from urllib.parse import quote, unquote

from crfkit.apps.genes.transcripts import Span, Transcript
from crfkit.exceptions import InputError
from crfkit.io.opening import Source, open_input, source_name

_PROTEINS = ("protein", "polypeptide", "mature_protein_region")


@dataclass
class _Record:
    contig: str
    strand: str
    line: int
    gene: str = ""
    beside: set[str] = field(default_factory=set)  # all parents of its CDS lines
    parts: list[tuple[Span, str]] = field(default_factory=list)  # with the phase as written in the file
    stops: list[Span] = field(default_factory=list)


@dataclass(frozen=True)
class Annotation:
    """The contents of a GFF3 or GTF file."""

    transcripts: list[Transcript]
    wrong_phases: list[str]  # ids of transcripts whose phases contradict their exons


class _Feature(NamedTuple):
    """A line with an ID."""

    kind: str
    parent: str  # its gene, or of a protein the transcript that it derives from


def read_annotation(source: Source) -> Annotation:
    """Read the transcripts with coding exons from a GFF3 or GTF file, in the order of the file.

    The attributes of each line tell the format: ``ID=x`` (GFF3) or ``gene_id "x"`` (GTF).
    """
    where = source_name(source)
    records: dict[str, _Record] = {}
    features: dict[str, _Feature] = {}
    with open_input(source) as lines:
        for number, raw in enumerate(lines, 1):
            try:
                line = raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(f"{where}:{number}: the line is not UTF-8 ({error.reason})") from error
            if line.startswith("##FASTA"):
                break
            if not line.strip() or line.startswith("#"):
                continue
            _read_line(line, f"{where}:{number}", number, records, features)
    wrong: list[str] = []
    transcripts = []
    for name, record in records.items():
        if not _is_transcript(name, features) and any(_is_transcript(one, features) for one in record.beside):
            continue
        gene = record.gene or _gene_of(name, features) or name
        transcripts.append(_transcript(name, gene, record, f"{where}:{record.line}", wrong))
    return Annotation(transcripts, wrong)


def _read_line(
    line: str, where: str, number: int, records: dict[str, _Record], features: dict[str, _Feature]
) -> None:
    columns = line.split("\t")
    if len(columns) != 9:
        raise InputError(f"{where}: expected 9 columns separated by tabs, got {len(columns)}")
    contig, _, kind, start, end, _, strand, phase, text = columns
    attributes = _attributes(text)
    if kind not in ("CDS", "stop_codon"):
        if "ID" in attributes:
            parent = attributes.get("Parent") or attributes.get("Derives_from", "")
            features[unquote(attributes["ID"])] = _Feature(kind, parent)
        return
    if kind == "stop_codon" and "transcript_id" not in attributes:
        return  # in GFF3 the CDS lines include the stop codon
    if strand not in ("+", "-"):
        raise InputError(f"{where}: a {kind} needs the strand + or -, got {strand!r}")
    try:
        interval = int(start) - 1, int(end)
    except ValueError as error:
        raise InputError(f"{where}: start and end must be whole numbers, got {start!r}, {end!r}") from error
    if not 0 <= interval[0] < interval[1]:
        raise InputError(f"{where}: expected 1 <= start <= end, got {start} and {end}")
    if phase not in (".", "0", "1", "2"):
        raise InputError(f"{where}: the phase must be 0, 1 or 2 (or .), got {phase!r}")
    owners = attributes.get("transcript_id") or attributes.get("Parent") or attributes.get("ID")
    if not owners:
        raise InputError(f"{where}: a CDS without Parent, ID or transcript_id belongs to no transcript")
    gene = attributes.get("gene_id", "") if "transcript_id" in attributes else ""
    names = list(map(unquote, owners.split(","))) if "transcript_id" not in attributes else [unquote(owners)]
    for name in names:
        record = records.setdefault(name, _Record(unquote(contig), strand, number, gene))
        if (record.contig, record.strand) != (unquote(contig), strand):
            raise InputError(
                f"{where}: transcript {name!r} is on {record.contig} {record.strand} and on {contig} {strand}"
            )
        record.beside.update(names)
        if kind == "CDS":
            record.parts.append((interval, phase))
        else:
            record.stops.append(interval)


def _is_transcript(name: str, features: Mapping[str, _Feature]) -> bool:
    return name in features and features[name].kind not in _PROTEINS


def _gene_of(name: str, features: Mapping[str, _Feature]) -> str:
    """Return the gene of a transcript, or of the transcript that a protein derives from; "" if unknown."""
    if name in features and features[name].kind in _PROTEINS:
        name = unquote(features[name].parent)
    return features[name].parent if name in features else ""


def _attributes(text: str) -> dict[str, str]:
    """Parse column 9 of GFF3 (``a=b;c=d``) or GTF (``a "b"; c "d";``)."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        part = part.strip()
        if not part:
            continue
        name, equals, value = part.partition("=")
        if equals and " " not in name:
            found[name] = value.strip()
        else:
            name, _, value = part.partition(" ")
            found[name] = value.strip().strip('"')
    return found


def _transcript(name: str, gene: str, record: _Record, where: str, wrong: list[str]) -> Transcript:
    if not record.parts:
        raise InputError(f"{where}: transcript {name!r} has a stop codon but no CDS")
    parts = sorted(record.parts)
    exons: list[Span] = []
    # A separate stop codon of GTF is adjacent to the CDS or is a separate piece.
    for begin, end in sorted([interval for interval, _ in parts] + record.stops):
        if exons and begin <= exons[-1][1] and record.stops:
            exons[-1] = exons[-1][0], max(end, exons[-1][1])
        elif exons and begin < exons[-1][1]:
            raise InputError(f"{where}: CDS lines of transcript {name!r} overlap at {begin + 1}")
        else:
            exons.append((begin, end))
    first = parts[0 if record.strand == "+" else -1][1]
    transcript = Transcript(
        record.contig,
        record.strand,
        tuple(exons),
        id=name,
        gene=unquote(gene),
        phase=int(first) if first != "." else 0,
    )
    given = {interval[0 if record.strand == "-" else 1]: phase for interval, phase in parts}
    for (begin, end), phase in zip(transcript.exons, transcript.phases(), strict=True):
        said = given.get(begin if record.strand == "-" else end, ".")
        if said not in (".", str(phase)):
            wrong.append(name)
            break
    return transcript


def write_gff3(
    file: IO[bytes],
    transcripts: Iterable[Transcript],
    *,
    source: str = "crfkit",
    lengths: Mapping[str, int] | None = None,
) -> None:
    """Write transcripts as GFF3, grouped by gene; ``lengths`` are the lengths of the contigs."""
    file.write(b"##gff-version 3\n")
    for contig, length in (lengths or {}).items():
        file.write(f"##sequence-region {_name(contig)} 1 {length}\n".encode())
    genes: dict[tuple[str, str], list[Transcript]] = defaultdict(list)
    for i, transcript in enumerate(transcripts):
        genes[transcript.contig, transcript.gene or transcript.id or f"gene{i + 1}"].append(transcript)
    for (_, gene), members in genes.items():
        file.write("".join(_gene_lines(gene, members, source)).encode())


def _gene_lines(gene: str, members: list[Transcript], source: str) -> Iterable[str]:
    first = members[0]
    best = max((t.score for t in members if t.score is not None), default=None)
    span = min(t.start for t in members), max(t.end for t in members)
    yield _line(first, source, "gene", span, best, ".", f"ID={_value(gene)}")
    for k, t in enumerate(members):
        name = t.id or f"{gene}.t{k + 1}"
        notes = (
            "" if all(t.complete) else f";partial={''.join('0' if whole else '1' for whole in t.complete)}"
        )
        about = f"ID={_value(name)};Parent={_value(gene)}{notes}"
        yield _line(t, source, "mRNA", (t.start, t.end), t.score, ".", about)
        scores = t.exon_scores or (None,) * len(t.exons)
        for kind in ("exon", "CDS"):
            for i, (exon, phase, score) in enumerate(zip(t.exons, t.phases(), scores, strict=True)):
                number = i + 1 if t.strand == "+" else len(t.exons) - i
                own, frame = (f"exon{number}", ".") if kind == "exon" else ("cds", str(phase))
                about = f"ID={_value(name)}.{own};Parent={_value(name)}"
                yield _line(t, source, kind, exon, score, frame, about)


def _line(
    t: Transcript, source: str, kind: str, span: Span, score: float | None, phase: str, notes: str
) -> str:
    number = "." if score is None else f"{score:.4g}"
    columns = (_name(t.contig), source, kind, str(span[0] + 1), str(span[1]), number, t.strand, phase, notes)
    return "\t".join(columns) + "\n"


def _name(text: str) -> str:
    """Escape the characters that GFF3 does not permit in column 1."""
    return quote(text, safe=".:^*$@!+_?-|", encoding="utf-8")


def _value(text: str) -> str:
    """Escape the value of an attribute."""
    return "".join(quote(c, safe="") if c in "\t\n\r%;=&," else c for c in text)


__all__ = ["Annotation", "read_annotation", "write_gff3"]
