"""``crfkit genes``: train a gene finder, predict genes, score predictions, plot a locus."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from crfkit.cli import options
from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.output_files import check_outputs, keep
from crfkit.exceptions import InputError
from crfkit.io.pictures import picture_format, save_picture
from crfkit.io.writing import open_output

if TYPE_CHECKING:
    from crfkit.apps.genes.gff import Annotation

USAGE = "train|predict|eval|plot FILE … [options]"

DESCRIPTION = """\
Finds protein-coding genes: trains on an annotated genome, predicts on both
strands, scores predictions, plots a locus. Reads FASTA, GFF3, GTF; writes GFF3."""

EXAMPLES = """\
examples:
  crfkit genes train genome.fasta annotation.gff3 -m cn.genes
  crfkit genes predict cn.genes genome.fasta > predicted.gff3
  crfkit genes eval annotation.gff3 predicted.gff3
  crfkit genes plot cn.genes genome.fasta chr2:285000-292000 -o locus.png"""


# The actions: a summary and the options of each.
_ACTIONS = {
    "train": (
        "train on an annotated genome",
        f"""
  genome FASTA              the genome
  annotation GFF            its genes, GFF3 or GTF
  -m, -o, --model FILE!     file for the model
  --flank N>=0 = 500        bases on either side of a gene to train on
  --c2 X:float = 0.01       penalty on differences from the generative model
  --longest-intron N>=20    longest intron in bases (default: from the training genes)
  --gc-classes N>=1 = 1     number of classes of GC content
  --skip-unknown            leave out genes on contigs that the genome does not have
{options.JOBS}
{options.QUIET}
""",
    ),
    "predict": (
        "predict genes",
        f"""
  model MODEL               a gene finder
  genome FASTA              the genome
  -o, --output FILE = -     GFF3; - is standard output
  --strand both|forward = both  strands to search
  --complete                only complete genes, none cut off by the end of a contig
{options.JOBS}
{options.QUIET}
""",
    ),
    "eval": (
        "compare predictions with an annotation",
        """
  annotation TRUE           the true genes, GFF3 or GTF
  predicted PREDICTED       the predicted genes, GFF3 or GTF
""",
    ),
    "plot": (
        "plot a locus",
        f"""
  model MODEL               a gene finder
  genome FASTA              the genome
  locus CONTIG:FROM-TO      region to plot, bases counted from 1
  -o, --output FILE!        plot: .png, .svg or .pdf
  --annotation GFF          the true genes, to plot as well
{options.JOBS}
""",
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the four actions, each with its own options."""
    doing = parser.add_subparsers(title="what to do", dest="action", metavar="ACTION")
    for name, (words, listed) in _ACTIONS.items():
        action = doing.add_parser(
            name, prog=f"crfkit genes {name}", help=words, formatter_class=options.HelpFormatter
        )
        options.declare(action, listed)


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    actions = {"train": _train, "predict": _predict, "eval": _eval, "plot": _plot}
    if arguments.action is None:
        raise UsageError(f"name an action: one of {', '.join(actions)}")
    actions[arguments.action](arguments)
    return 0


def _read_annotation(path: str) -> Annotation:
    from crfkit.apps.genes.gff import read_annotation

    annotation = read_annotation(path)
    if not annotation.transcripts:
        warn(f"{path}: no CDS lines, so no genes")
    if annotation.wrong_phases:
        warn(
            f"{path}: the phases of {len(annotation.wrong_phases)} transcripts contradict their exons, for "
            f"example {annotation.wrong_phases[0]}; the phases are ignored"
        )
    return annotation


def _train(arguments: argparse.Namespace) -> None:
    from crfkit.apps.genes.fasta import read_fasta
    from crfkit.apps.genes.finder import GeneFinder
    from crfkit.apps.genes.training_windows import training_windows

    check_outputs(arguments, [arguments.model], [arguments.genome, arguments.annotation])
    began = time.perf_counter()
    genome = read_fasta(arguments.genome)
    annotation = _read_annotation(arguments.annotation)
    found = training_windows(
        genome, annotation.transcripts, flank=arguments.flank, skip_unknown=arguments.skip_unknown
    )
    if not arguments.quiet:
        note(
            f"{sum(map(len, genome.values())):,} bases, {len(annotation.transcripts):,} transcripts; "
            f"{len(found.windows):,} genes to train on, {len(found.overlapping):,} overlap others"
        )
    if found.unknown:
        warn(
            f"{len(found.unknown):,} transcripts are left out, for example {found.unknown[0]}: the genome "
            "does not have their contigs"
        )
    if len(found.overlapping) > len(found.windows):
        warn(
            "most genes are left out because their coding ranges overlap, for example those of "
            f"{' and '.join(found.overlapping[0])}: are they transcripts of one gene, named as several?"
        )
    finder = GeneFinder(
        arguments.c2,
        longest_intron=arguments.longest_intron,
        gc_classes=arguments.gc_classes,
        n_jobs=arguments.jobs,
    )
    finder.fit(
        [w.codes for w in found.windows],
        [w.exons for w in found.windows],
        [w.name for w in found.windows],
    )
    keep(arguments.model, finder.save, "the gene finder")
    if not arguments.quiet:
        note(
            f"{arguments.model}: trained on {finder.n_genes_:,} genes in {finder.n_iter_} iterations, "
            f"{time.perf_counter() - began:.0f} s"
        )


def _predict(arguments: argparse.Namespace) -> None:
    from crfkit.apps.genes.fasta import stream_fasta
    from crfkit.apps.genes.finder import GeneFinder
    from crfkit.apps.genes.gff import write_gff3

    check_outputs(arguments, [arguments.output], [arguments.model, arguments.genome])
    finder = GeneFinder.load(arguments.model, n_jobs=arguments.jobs)
    genes, lengths = [], {}
    for name, sequence in stream_fasta(arguments.genome):
        began = time.perf_counter()
        (found,) = finder.predict(
            [sequence],
            both_strands=arguments.strand == "both",
            partial=not arguments.complete,
            names=[name],
        )
        genes += found
        lengths[name] = len(sequence)
        if not arguments.quiet:
            note(
                f"{name}: {len(sequence):,} bases, {len(found):,} genes, {time.perf_counter() - began:.1f} s"
            )

    def write(path: str) -> None:
        with open_output(path) as file:
            write_gff3(file, genes, lengths=lengths)

    keep(arguments.output, write, "the result")


def _eval(arguments: argparse.Namespace) -> None:
    from crfkit.apps.genes.gene_scores import gene_scores
    from crfkit.cli.tables import matrix

    true, predicted = _read_annotation(arguments.annotation), _read_annotation(arguments.predicted)
    contigs = [{t.contig for t in each.transcripts} for each in (true, predicted)]
    if all(contigs) and contigs[0].isdisjoint(contigs[1]):
        raise InputError(
            f"{arguments.annotation} and {arguments.predicted} have no contig in common (for example "
            f"{min(contigs[0])!r} and {min(contigs[1])!r}): are both of one assembly?"
        )
    scores = gene_scores(true.transcripts, predicted.transcripts)
    rows = scores.as_rows()
    cells = [[f"{sn:.1%}", f"{sp:.1%}", f"{n:,}", f"{m:,}"] for _, sn, sp, n, m in rows]
    lines = matrix("level", [row[0] for row in rows], ["Sn", "Sp", "true", "predicted"], cells, gap="  ")
    for line in lines:
        print(line)
    print(f"missed exons {scores.missed_exon_rate:.1%}, wrong exons {scores.wrong_exon_rate:.1%}")


def _locus(text: str) -> tuple[str, int, int]:
    contig, _, span = text.rpartition(":")
    first, _, last = span.replace(",", "").partition("-")
    if not contig or not first.isdecimal() or not last.isdecimal() or not 1 <= int(first) <= int(last):
        raise UsageError(f"expected a locus such as chr2:1000-5000, got {text!r}")
    return contig, int(first) - 1, int(last)


def _plot(arguments: argparse.Namespace) -> None:
    from crfkit.apps.genes.fasta import read_fasta
    from crfkit.apps.genes.finder import GeneFinder
    from crfkit.apps.genes.plot import plot_locus

    inputs = [arguments.model, arguments.genome, arguments.annotation]
    check_outputs(arguments, [arguments.output], inputs)
    picture_format(arguments.output)
    contig, begin, end = _locus(arguments.locus)
    genome = read_fasta(arguments.genome)
    if contig not in genome or end > len(genome[contig]):
        raise UsageError(f"{arguments.genome} does not contain {arguments.locus}")
    finder = GeneFinder.load(arguments.model, n_jobs=arguments.jobs)
    # The surroundings influence the prediction.
    margin = 10_000
    left, right = max(0, begin - margin), min(len(genome[contig]), end + margin)
    part = genome[contig][left:right]
    (found,) = finder.predict([part], both_strands=True, partial=True, names=[contig])
    tracks = finder.posterior(part)
    cut = slice(begin - left, end - left)
    true = _read_annotation(arguments.annotation).transcripts if arguments.annotation else []
    figure = plot_locus(
        begin,
        end,
        [gene for gene in (g.moved(left) for g in found) if gene.start < end and gene.end > begin],
        true=[t for t in true if t.contig == contig and t.start < end and t.end > begin],
        posterior={strand: track.cut(cut) for strand, track in tracks.items()},
        title=arguments.locus,
    )
    keep(arguments.output, lambda place: save_picture(figure, place), "the plot")
