"""CPU seconds and peak memory of ``crfkit genes predict`` against the length of a contig.

    python benchmarks/gene_memory.py             # trains first; --model FILE: one that is there
    python benchmarks/gene_memory.py --longest-intron 100000

Chromosome 2 of Cryptococcus neoformans: a quarter, a half and the whole. Each is a command in a
process of its own, both strands; the peak is the kernel's count of that process. The first row, a contig of
1,000 bases, is what the program and the model take.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tasks import data_directory

_LINE = 60
# A process begins with the peak of the one that starts it, which must be small therefore.
_LAUNCHER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def read_contig(path: Path) -> str:
    """The sequence of the file's first record."""
    return "".join(path.read_text(encoding="ascii").split(">")[1].splitlines()[1:])


def write_contig(path: Path, bases: str) -> None:
    lines = (bases[i : i + _LINE] for i in range(0, len(bases), _LINE))
    path.write_text(">contig\n" + "\n".join(lines) + "\n", encoding="ascii")


def measure(command: list[str]) -> tuple[float, float]:
    """Seconds of computing and peak megabytes of a command."""
    done = subprocess.run([sys.executable, "-c", _LAUNCHER, *command], stdout=subprocess.PIPE, check=True)
    seconds, kilobytes = map(float, done.stdout.split())
    return seconds, kilobytes / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a gene finder; default: train one")
    parser.add_argument(
        "--longest-intron", type=int, metavar="N", help="of training; default: from its genes"
    )
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--quick", action="store_true", help="no contig over 100,000 bases: does it run?")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    folder = data_directory("genes")
    genome, annotation = folder / "cneoformans_H99_chr2.fasta", folder / "cneoformans_H99_chr2.gff3"
    genes = [sys.executable, "-m", "crfkit", "genes"]
    common = ["-j", str(arguments.jobs), "-q"]
    bases = read_contig(genome)[: 100_000 if arguments.quick else None]
    contigs = [bases[:1000], bases[: len(bases) // 4], bases[: len(bases) // 2], bases]
    lines = ["| bases | genes | CPU seconds | µs a base | peak MB |", "|---" * 5 + "|"]
    with tempfile.TemporaryDirectory() as work:
        model, contig, found = arguments.model, Path(work) / "contig.fasta", Path(work) / "found.gff3"
        if model is None:
            model = Path(work) / "model.genes"
            more = ["--longest-intron", str(arguments.longest_intron)] if arguments.longest_intron else []
            measure([*genes, "train", str(genome), str(annotation), "-m", str(model), *common, *more])
        for part in contigs:
            write_contig(contig, part)
            seconds, peak = measure([*genes, "predict", str(model), str(contig), "-o", str(found), *common])
            n = sum(line.split("\t")[2:3] == ["gene"] for line in found.read_text().splitlines())
            each = 1e6 * seconds / len(part)
            lines.append(f"| {len(part):,} | {n:,} | {seconds:.1f} | {each:.1f} | {peak:.0f} |")
            print(lines[-1], flush=True)
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
