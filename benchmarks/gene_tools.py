"""AUGUSTUS and SNAP, trained and run on windows with one gene each, through their own programs.

Debian has both: ``apt-get install augustus snap`` (and ``libparallel-forkmanager-perl`` where AUGUSTUS is to
optimise its settings). Everything is written into a directory of the caller's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gene_windows import Window

Genes = list[list[list[tuple[int, int]]]]  # windows of genes of exons
_SHARE = Path("/usr/share/augustus")
_SNAP_PATHS = ("snap-hmm", "/usr/lib/debian-med/bin/snap")
_SPECIES = "benchmark"


def missing() -> list[str]:
    """The tools that are not installed."""
    tools = {"AUGUSTUS": ("augustus", "etraining"), "SNAP": ("fathom", "forge", "hmm-assembler.pl")}
    absent = [tool for tool, needed in tools.items() if not all(map(shutil.which, needed))]
    if "SNAP" not in absent and not any(map(shutil.which, _SNAP_PATHS)):
        absent.append("SNAP")
    return absent


def augustus(train: Sequence[Window], test: Sequence[Window], work: Path, *, optimise: int = 0) -> Genes:
    """The genes that AUGUSTUS finds, trained as its manual says, from its generic settings.

    ``optimise``: rounds of its search for settings, on the training genes alone.
    """
    config = work / "config"
    shutil.copytree(_SHARE / "config", config, ignore=shutil.ignore_patterns("species"))
    shutil.copytree(_SHARE / "config/species/generic", config / "species/generic")
    environment = {**os.environ, "AUGUSTUS_CONFIG_PATH": str(config)}

    def run(*command: str | Path) -> str:
        return _run([*command], work, environment)

    run("perl", _SHARE / "scripts/new_species.pl", f"--species={_SPECIES}")
    parameters = config / f"species/{_SPECIES}/{_SPECIES}_parameters.cfg"
    text = parameters.read_text(encoding="utf-8")
    text = text.replace("stopCodonExcludedFromCDS true", "stopCodonExcludedFromCDS false")
    parameters.write_text(text, encoding="utf-8")
    _write_genbank(work / "train.gb", train)
    run("etraining", f"--species={_SPECIES}", "train.gb")
    if optimise:
        script = _SHARE / "scripts/optimize_augustus.pl"
        run("perl", script, f"--species={_SPECIES}", f"--rounds={optimise}", "--kfold=8", "train.gb")
        run("etraining", f"--species={_SPECIES}", "train.gb")
    _write_fasta(work / "test.fasta", test)
    found = run(
        "augustus",
        f"--species={_SPECIES}",
        "--strand=forward",
        "--genemodel=complete",
        "--softmasking=0",
        "test.fasta",
    )
    exons: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for line in found.splitlines():
        cells = line.split("\t")
        if len(cells) == 9 and cells[2] == "CDS":
            gene = cells[8].split('transcript_id "')[1].split('"')[0]
            exons.setdefault(cells[0], {}).setdefault(gene, []).append((int(cells[3]) - 1, int(cells[4])))
    return _in_order(test, exons)


def snap(train: Sequence[Window], test: Sequence[Window], work: Path) -> Genes:
    """The genes that SNAP finds with parameters estimated as its README says."""
    _write_fasta(work / "genome.dna", train)
    with open(work / "genome.ann", "w", encoding="utf-8") as file:
        for window in train:
            file.write(f">{window.id}\n")
            n = len(window.exons)
            for i, (start, stop) in enumerate(window.exons):
                kind = "Esngl" if n == 1 else "Einit" if i == 0 else "Eterm" if i == n - 1 else "Exon"
                file.write(f"{kind}\t{start + 1}\t{stop}\t{window.id}\n")
    flank = "500"  # as much as the windows have
    _run(["fathom", "genome.ann", "genome.dna", "-categorize", flank], work)
    _run(["fathom", "uni.ann", "uni.dna", "-export", flank, "-plus"], work)
    (work / "params").mkdir()
    _run(["forge", "../export.ann", "../export.dna"], work / "params")
    (work / "own.hmm").write_text(_run(["hmm-assembler.pl", _SPECIES, "params"], work), encoding="utf-8")
    _write_fasta(work / "test.fasta", test)
    program = next(filter(None, map(shutil.which, _SNAP_PATHS)))
    found = _run([program, "-quiet", "-plus", "own.hmm", "test.fasta"], work)
    exons: dict[str, dict[str, list[tuple[int, int]]]] = {}
    contig = ""
    for line in found.splitlines():
        if line.startswith(">"):
            contig = line[1:].split()[0]
            continue
        cells = line.split()
        exons.setdefault(contig, {}).setdefault(cells[-1], []).append((int(cells[1]) - 1, int(cells[2])))
    return _in_order(test, exons)


def _in_order(windows: Sequence[Window], exons: dict[str, dict[str, list[tuple[int, int]]]]) -> Genes:
    return [[sorted(gene) for gene in exons.get(window.id, {}).values()] for window in windows]


def _run(command: Sequence[str | Path], where: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run([*map(str, command)], cwd=where, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout.decode(errors="replace")


def _write_fasta(path: Path, windows: Sequence[Window]) -> None:
    path.write_text("".join(f">{w.id}\n{w.sequence.upper()}\n" for w in windows), encoding="utf-8")


def _write_genbank(path: Path, windows: Sequence[Window]) -> None:
    """As much of the format as AUGUSTUS reads: the coding sequence of one gene a record, and the bases."""
    with open(path, "w", encoding="utf-8") as file:
        for window in windows:
            bases, parts = window.sequence.lower(), [f"{start + 1}..{stop}" for start, stop in window.exons]
            place = parts[0] if len(parts) == 1 else f"join({','.join(parts)})"
            file.write(f"LOCUS       {window.id}   {len(bases)} bp  DNA\n")
            file.write(f"FEATURES             Location/Qualifiers\n     source          1..{len(bases)}\n")
            file.write(f'     CDS             {place}\n                     /gene="{window.id}"\n')
            file.write("BASE COUNT\nORIGIN\n")
            for start in range(0, len(bases), 60):
                row = bases[start : start + 60]
                tens = " ".join(row[i : i + 10] for i in range(0, len(row), 10))
                file.write(f"{start + 1:9d} {tens}\n")
            file.write("//\n")
