"""The table of readers for the fuzz campaign: valid files, how to damage them, and how to use what was read.

A new reader is one entry in ``READERS``. ``use`` reads bytes and works with the result; it may raise
``CRFKitError``, and nothing else. It calls ``loaded`` once the file has been read, so that files refused at
once and files refused in use are counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import random
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz_mutations import mutated, mutated_model

import crfkit
from crfkit.apps.genes import GeneFinder
from crfkit.apps.genes.fasta import read_fasta
from crfkit.apps.genes.gff import read_annotation
from crfkit.apps.stocks import read_prices
from crfkit.cli.messages import UsageError
from crfkit.compat.pycrfsuite import Tagger
from crfkit.data import Columns, Vocabulary
from crfkit.features import Features, Gazetteers, Template, bias, position, token
from crfkit.features.program import FeatureProgram
from crfkit.io.formats import FORMATS
from crfkit.io.graph_lines import labelled_line, read_graphs
from crfkit.io.model_file import read_model, write_model
from crfkit.io.state_file import read_state
from crfkit.mining import AssociationMiner, Rules
from crfkit.models.foreign import import_model

TESTS = Path(__file__).parents[1]
BEFORE = TESTS / "models" / "written_before"
ANSWERS: dict[str, Any] = json.loads((BEFORE / "answers.json").read_text(encoding="utf-8"))
ROWS = [["the", "DT", "a"], ["dog2", "NN", "b"], ["é", "NN", "c"]]
_ONCE_IN = 16  # inputs that are also shown by ``crfkit inspect``

Use = Callable[[bytes, Callable[[], None], random.Random], None]


class Reader(NamedTuple):
    """A reader, with valid files."""

    name: str
    seeds: Sequence[bytes]
    use: Use
    share: int = 4  # of the inputs
    damage: Callable[[random.Random, bytes, Sequence[bytes]], bytes] = mutated


# ---- models


def check(labels: Any, classes: Any, marginals: Any) -> None:
    """Check that a labelling and probabilities are possible."""
    known = set(classes)
    for sequence, array in zip(labels, marginals, strict=True):
        if len(sequence) != len(array) or not known.issuperset(sequence):
            raise AssertionError(f"labels {sequence} for {len(array)} positions")
        if not (np.abs(np.asarray(array).sum(axis=1) - 1) < 1e-5).all():
            raise AssertionError(f"probabilities that do not sum to 1: {array!r}"[:300])


def use_model(kind: str, X: Any, tagger: bool = True) -> Use:
    """Return what loads a model of this class, or opens it in a tagger, predicts, and sometimes shows it."""

    def use(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
        if r.random() < 0.4 and tagger:
            use_tagger(crfkit.Tagger(data), X[0], loaded)
            return
        model = getattr(crfkit, kind).load(data, n_jobs=1)
        loaded()
        if r.randrange(_ONCE_IN) == 0:
            inspect(data, r)
        check(model.predict(X), model.classes_, model.predict_marginals(X, as_arrays=True))

    return use


def use_tagger(tagger: Any, x: Any, loaded: Callable[[], None]) -> None:
    """Label one sequence with a light tagger, and ask for probabilities."""
    loaded()
    found = (tagger.analyse_tokens if tagger.takes_tokens else tagger.analyse)(x)
    marginals = [list(each.values()) for each in found.marginals()]
    check([found.labels()], tagger.labels, [marginals])
    found.segments(), found.nbest(3), found.probability(log=True)


@cache
def _inspector() -> tuple[Any, argparse.ArgumentParser]:
    module, parser = import_module("crfkit.cli.inspect"), argparse.ArgumentParser()
    module.add_options(parser)
    return module, parser


def inspect(data: bytes, r: random.Random) -> None:
    """Show a model as ``crfkit inspect`` does."""
    module, parser = _inspector()
    path = Path(Template.__module__ + ".model")  # in the worker's own folder
    path.write_bytes(data)
    shown = r.choice(([], ["--json"], ["--transitions"], ["--top", "3"], ["--dump"], ["--rules", "3"]))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(UsageError):
        module.run(parser.parse_args([str(path), *shown]))


def foreign_items(width: int | None) -> Any:
    """Return a sequence for a model of another tool: items, or rows of this many cells."""
    if width is None:
        return [[["w=a", "bias"], ["w=b"], []]]
    return Columns.from_rows([[(row * 3)[: max(1, min(width, 9))] for row in ROWS]])


def use_foreign(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    """Import a model of another tool and tag with it."""
    if r.random() < 0.4:
        light = crfkit.Tagger(data)
        use_tagger(light, foreign_items(light.n_columns)[0], loaded)
        return
    tagger = import_model(data, n_jobs=1)
    loaded()
    if r.randrange(_ONCE_IN) == 0:
        inspect(data, r)
    X = foreign_items(tagger.n_columns)
    check(tagger.predict(X), tagger.classes, tagger.marginal_arrays(X))


def use_crfsuite(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    """Open a CRFsuite model with our tagger, or with python-crfsuite's interface."""
    if r.random() < 0.7:
        use_foreign(data, loaded, r)
        return
    tagger = Tagger()
    tagger.open_inmemory(data)
    loaded()
    tagger.tag([["w=a", "bias"], ["w=b"], []])
    tagger.info()


def use_genes(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    """Load a gene finder and find genes."""
    finder = GeneFinder.load(data, n_jobs=1)
    loaded()
    finder.predict([GENE], both_strands=r.random() < 0.3, partial=r.random() < 0.3)


GENE = ANSWERS["genes"]["X"][0][:600]


def small_genes() -> bytes:
    """Return a gene finder's file with shorter tables."""
    header, arrays = read_model(gzip.decompress((BEFORE / "genes.crfkit.gz").read_bytes()))
    arrays["chain.1"] = arrays["chain.1"][:, :64]
    arrays["length.exon"], arrays["length.intron"] = (
        arrays["length.exon"][:, :90],
        arrays["length.intron"][:90],
    )
    return saved(lambda file: write_model(file, header, arrays))


def use_rules(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    """Load a file of rules, and sort and show them."""
    rules = Rules.load(data)
    loaded()
    str([*rules.sorted("confidence")[:3]])
    rules.to_json("rules.json")


def saved(save: Callable[[Any], Any]) -> bytes:
    """Return what a function writes to a file."""
    file = io.BytesIO()
    save(file)
    return file.getvalue()


SENTENCES = [["New", "York", "has", "12"], ["Bath", "is", "small"], ["1984"]]
LABELS = [["B-C", "I-C", "O", "B-N"], ["B-C", "O", "O"], ["B-N"]]


GRAPH_MODELS = ("graphs linear", "graphs trees", "graphs kernel")


def rings() -> tuple[list[crfkit.Graph], list[list[str]]]:
    """Return rings of three or four nodes with their labels."""
    made = np.random.default_rng(0)
    labels = [["ab"[k % 2]] * (3 + k % 2) for k in range(6)]
    features = [made.normal((-1, 1)[k % 2], 1, (len(one), 2)) for k, one in enumerate(labels)]
    edges = [[[i, (i + 1) % len(one)] for i in range(len(one))] for one in labels]
    return [crfkit.Graph(*pair) for pair in zip(features, edges, strict=True)], labels


@cache
def trained() -> dict[str, bytes]:
    """Return files of models that tests/models/written_before does not have."""
    X = [[[f"w={word}"] for word in sentence] for sentence in SENTENCES]
    w = token()
    city = w.member(["new york", "bath"], "city", ignore_case=True)
    features = [w.lower() & w.shape(), w.suffix(2), w.window(-1, 1), city, w.length(), position(), bias()]
    crf = crfkit.CRF(extractor=Features(features), n_jobs=1, max_iterations=5).fit(SENTENCES, LABELS)
    models: dict[str, Any] = {
        "extractor": crf,
        "rules": AssociationMiner(important=False, min_support=1, n_jobs=1).fit(X, LABELS).rules_,
        "crfsuite": crfkit.CRF(n_jobs=1, max_iterations=5).fit([[["w=a", "bias"], ["w=b"]]], [["A", "B"]]),
    }
    lists = Gazetteers({"city": ["New York", "Bath"]})
    models["segments"] = crfkit.SemiCRF(
        extractor=Features(w.lower()),
        segment_features=lists,
        last_attributes=True,
        n_jobs=1,
        max_iterations=5,
    ).fit(SENTENCES, LABELS)
    models["order 3"] = crfkit.CRF(order=3, n_jobs=1, max_iterations=5).fit(X, LABELS)
    potentials = ("linear", crfkit.TreeCRF(n_iterations=3, n_leaves=4), crfkit.KernelCRF(n_cliques=4))
    for name, potential in zip(GRAPH_MODELS, potentials, strict=True):
        model = crfkit.GraphCRF(potential, ends=name != "graphs kernel", n_jobs=1, max_iterations=5)
        models[name] = model.fit(*rings())
    files = {name: saved(model.save) for name, model in models.items() if name != "crfsuite"}
    files["crfsuite"] = saved(models["crfsuite"].save_crfsuite)
    _, arrays = read_model(files["extractor"])
    files["compact"] = saved(lambda file: crf.save(file, compact=True))
    for method in ("temperature", "isotonic"):
        files[method] = saved(
            crf.calibrate(SENTENCES, [*LABELS[:1], ["O", "O", "B-C"], ["B-C"]], method).save
        )
    files["program"] = arrays["extractor.program"].tobytes()
    return files


def use_program(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    """Load a feature program and run it over tokens or rows."""
    program = FeatureProgram(data, stored=True)
    program.inputs  # noqa: B018
    loaded()
    rows: Any = [[[word, "2"] for word in sentence] for sentence in SENTENCES]
    X = r.choice((SENTENCES, rows))
    program.run(program.read(X), Vocabulary(), grow=True, n_jobs=1)


# ---- blocks of training data


_HEADER = "header.crfkit"


@cache
def blocks() -> dict[str, bytes]:
    """Return the files of a directory of blocks."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "blocks")
        crfkit.Blocks.write(place, SENTENCES, [*LABELS[:2], [None]], extractor=Features(token().lower()))
        return {path.name: path.read_bytes() for path in place.iterdir()}


def use_blocks(damaged: str) -> Use:
    """Return what opens blocks of which one file is damaged, and trains on them."""

    def use(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
        place, files = Path("blocks"), {**blocks(), damaged: data}
        place.mkdir(exist_ok=True)
        if damaged != _HEADER and r.random() < 0.9:  # otherwise the checksum is wrong
            header, arrays = read_model(files[_HEADER])
            record = header["arrays"][damaged.split(".")[0]]
            record |= {"crc32": zlib.crc32(data), "size": len(data) // int(damaged[-1])}
            files[_HEADER] = saved(lambda file: write_model(file, header, arrays))
        for name, content in files.items():
            (place / name).unlink(missing_ok=True)  # the one before may still be mapped
            (place / name).write_bytes(content)
        found = crfkit.Blocks.open(place)
        loaded()
        crfkit.CRF(max_iterations=2, n_jobs=1).fit(found)

    return use


# ---- checkpoints

ITEM_LISTS = [[["w=a", "bias"], ["w=b"]], [["w=b"], ["w=c"], []]], [["A", "B"], ["B", "A", "A"]]


def checkpointed(algorithm: str, path: str | Path, **options: Any) -> None:
    """Train a small model with a checkpoint, or continue from one."""
    checkpoint = crfkit.Checkpoint(path, 0, keep=True, **options)
    crfkit.CRF(algorithm=algorithm, max_iterations=4, n_jobs=1).fit(*ITEM_LISTS, checkpoint=checkpoint)


def checkpoint_file(algorithm: str) -> bytes:
    """Return the checkpoint that a training has left."""
    with tempfile.TemporaryDirectory() as folder:
        checkpointed(algorithm, Path(folder, "checkpoint"))
        return Path(folder, "checkpoint").read_bytes()


def use_checkpoint(algorithm: str) -> Use:
    """Return what reads a checkpoint and continues from it."""

    def use(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
        path = Path("checkpoint")
        path.write_bytes(data)
        read_state(path)
        loaded()
        checkpointed(algorithm, path, resume=True)

    return use


# ---- data


def use_data(name: str) -> Use:
    """Return what reads a data format, whole and in pieces."""
    format = FORMATS[name]

    def use(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
        if format.is_table:
            table = format.read(io.BytesIO(data))
            loaded()
            pieces = list(format.stream(io.BytesIO(data), positions=2))
            if sum(len(piece.ids) for piece in pieces) != len(table.ids):
                raise AssertionError("the pieces have other rows than the whole")
            for k in range(table.n_columns):
                table.column(k)
            return
        vocabulary, labels = Vocabulary(), r.choice((True, False))
        examples = format.read(io.BytesIO(data), vocabulary, grow=True, labels=labels)
        loaded()
        pieces = list(format.stream(io.BytesIO(data), vocabulary, grow=False, labels=labels, positions=2))
        if sum(len(piece.sequences.indices) for piece in pieces) != len(examples.sequences.indices):
            raise AssertionError("the pieces have other attributes than the whole")

    return use


GRAPHS_JSONL = b"""{"nodes": [["red"], ["blue"]], "edges": [[0, 1]], "edge_types": [1], "labels": ["A", null]}
{"nodes": [["red"], []], "edges": [], "directed": false, "labels": [["A", "B"], "B"]}
"""
GRIDS_JSONL = b"""{"cells": ["rb", "br"], "neighbours": 8, "labels": [[0, 1], [1, 0]]}
{"cells": ["r"], "labels": [[0]], "predicted": [[1]]}
"""


def use_graphs(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    """Read graphs, train on those that have labels, and write the labels of all."""
    records = read_graphs(io.BytesIO(data))
    loaded()
    labelled = [record for record in records if record.labels is not None]
    model = crfkit.GraphCRF(max_iterations=2, n_jobs=1)
    model.fit([record.graph for record in labelled], [record.labels for record in labelled])
    for record in labelled:
        labelled_line(record, model.predict([record.graph])[0])


def use_template(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    """Parse a template and expand it."""
    template = Template.parse(data.decode("utf-8", "replace"))
    loaded()
    template.attributes([(row * 3)[: max(1, min(template.n_columns, 9))] for row in ROWS])
    template.edge_attributes, template.single_cells  # noqa: B018


def use_fasta(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    read_fasta(io.BytesIO(data))
    loaded()


def use_annotation(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    read_annotation(io.BytesIO(data))
    loaded()


def use_prices(data: bytes, loaded: Callable[[], None], r: random.Random) -> None:
    path = Path("prices.csv")
    path.write_bytes(data)
    read_prices(path)
    loaded()


COLUMNS = "\n".join(" ".join(row) for row in ROWS).encode() + b"\n\n-DOCSTART- x O\n\n\nhe PRP b\r\n"
CSV = b'id,word,tag\n1,the,DT\n1,"dog ""x""\nnext",NN\n2,,O\n\n3,"a,b",\xc3\xa9\n'
JSONL = b"""{"tokens": ["New", "York"], "tags": ["B", "I"]}
{"text": "in Bath", "spans": [{"start": 3, "end": 7, "label": "CITY"}]}
"""
CONLLU = b"""# text = dogs bark
1\tdogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\tSpaceAfter=No
2-3\tbark\t_\t_\t_\t_\t_\t_\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_

"""
ITEMS = b"A\tw=a\tb\\:c:2.5\tbias\nB\tw=b:1e3\n\nA\tw=a\n"
MALLET = b"w=a bias A\nw=b:2 B\n\nx=1 y=2 A\n"
TEMPLATES = [
    b"# comment\nU00:%x[-1,0]/%x[0,1]\nU01:%x[0,0]\nB01:%x[0,1]\nB\n",
    b'u:w=%X[0,0]\n*:t=%t[-1,0,"^\\d*.?$"]\nb:m=%m[1,1,"\\u*\\p"]\nu:last=%x[@-1,0]\nb\n',
]
FASTA = b">chr1 first\nACGTACGTNN\nacgtRYK\n\n>chr2\r\nGGGTTT\r\n"
GFF = b"""##gff-version 3
c\t.\tgene\t1\t90\t.\t+\t.\tID=g1;Name=a%20b
c\t.\tmRNA\t1\t90\t.\t+\t.\tID=t1;Parent=g1
c\t.\tCDS\t1\t30\t.\t+\t0\tParent=t1,t2
c\t.\tCDS\t61\t90\t.\t+\t0\tParent=t1
##FASTA
>c
"""
GTF = b"""c\t.\tCDS\t1\t30\t.\t-\t0\tgene_id "g"; transcript_id "t";
c\t.\tstop_codon\t1\t3\t.\t-\t0\tgene_id "g"; transcript_id "t";
"""
PRICES = b"date,ticker,adj close\n2007-12-31,A,10.5\n2008-01-02,A,11\n2008-01-03,A,5.5\n2008-01-02,B,3\n"


def readers() -> dict[str, Reader]:
    """Return the table."""
    table = []
    for path in sorted(BEFORE.glob("*.crfkit")):
        answer = ANSWERS[path.stem]
        X = [np.array(one) for one in answer["X"]] if answer["arrays"] else answer["X"]
        large = path.stat().st_size > 30_000
        use = use_model(answer["class"], X[:1])
        table.append(Reader(f"model {path.stem}", [path.read_bytes()], use, 1 if large else 2, mutated_model))
    made = trained()
    foreign = {
        path.stem: path.read_bytes() for path in sorted((TESTS / "io" / "foreign_models").glob("*.model"))
    }

    def of(start: str) -> list[bytes]:
        return [data for name, data in foreign.items() if name.startswith(start)]

    table += [
        Reader("model extractor", [made["extractor"]], use_model("CRF", SENTENCES), 3, mutated_model),
        Reader("model segments", [made["segments"]], use_model("SemiCRF", SENTENCES), 3, mutated_model),
        Reader("model order 3", [made["order 3"]], use_model("CRF", ITEM_LISTS[0]), 3, mutated_model),
        *(
            Reader(
                f"model {name}",
                [made[name]],
                use_model("GraphCRF", rings()[0][:2], tagger=False),
                3,
                mutated_model,
            )
            for name in GRAPH_MODELS
        ),
        *(
            Reader(
                f"blocks {name}",
                [content],
                use_blocks(name),
                3 if name == _HEADER else 1,
                mutated_model if name == _HEADER else mutated,
            )
            for name, content in sorted(blocks().items())
        ),
        Reader("model compact", [made["compact"]], use_model("CRF", SENTENCES), 4, mutated_model),
        Reader(
            "model calibrated",
            [made["temperature"], made["isotonic"]],
            use_model("CRF", SENTENCES),
            3,
            mutated_model,
        ),
        *(
            Reader(f"checkpoint {name}", [checkpoint_file(name)], use_checkpoint(name), 2, mutated_model)
            for name in ("lbfgs", "sgd", "ap")
        ),
        Reader("model genes", [small_genes()], use_genes, 1, mutated_model),
        Reader("rules", [made["rules"]], use_rules, 2, mutated_model),
        Reader("feature program", [made["program"]], use_program, 10),
        Reader("CRFsuite model", [made["crfsuite"]], use_crfsuite, 10),
        Reader("Wapiti model", of("wapiti"), use_foreign, 8),
        Reader("CRF++ model", of("crfpp_t"), use_foreign, 8),
        Reader("CRF++ binary model", of("crfpp_b"), use_foreign, 10),
        Reader("columns", [COLUMNS], use_data("columns"), 10),
        Reader("csv", [CSV], use_data("csv"), 10),
        Reader("graphs", [GRAPHS_JSONL, GRIDS_JSONL], use_graphs, 6),
        Reader("jsonl", [JSONL], use_data("jsonl"), 6),
        Reader("conllu", [CONLLU], use_data("conllu"), 6),
        Reader("plain text", [COLUMNS, CSV], use_data("text"), 4),
        Reader("crfsuite items", [ITEMS], use_data("crfsuite"), 10),
        Reader("mallet", [MALLET], use_data("mallet"), 10),
        Reader("template", TEMPLATES, use_template, 10),
        Reader("FASTA", [FASTA], use_fasta, 10),
        Reader("GFF3 and GTF", [GFF, GTF], use_annotation, 10),
        Reader("prices", [PRICES], use_prices, 4),
    ]
    return {reader.name: reader for reader in table}
