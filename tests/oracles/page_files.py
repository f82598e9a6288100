"""Generated files that stand in for those of README.md and docs/: the same names, columns and labels."""

import json
import random
import shutil
from pathlib import Path

from random_prices import random_prices
from small_genomes import random_windows

ROOT = Path(__file__).parent.parent.parent
TEMPLATE = (ROOT / "benchmarks" / "chunking.template").read_text(encoding="utf-8")

# Chunks of CoNLL-2000's labels: words with their parts of speech.
_CHUNKS = {
    "NP": [
        "the DT hill NN",
        "He PRP",
        "it PRP",
        "the DT pound NN",
        "Mr. NNP Lawson NNP",
        "that DT day NN off RB",
    ],
    "VP": ["runs VBZ", "took VBD", "warned VBD", "has VBZ risen VBN", "is VBZ"],
    "PP": ["in IN", "of IN", "up IN", "off IN", "because IN of IN"],
    "ADVP": ["up IN", "back RB", "so RB far RB", "off RB", "well RB off RB"],
    "ADJP": ["high JJ", "off JJ", "well RB off JJ", "sure JJ"],
    "PRT": ["up RP", "off RP", "out RP"],
    "SBAR": ["that IN", "because IN", "while IN"],
    "CONJP": ["as RB well RB as IN"],
    "INTJ": ["Oh UH"],
    "LST": ["1 LS"],
}
_PLANS = [
    *(
        "NP VP PP NP",
        "NP VP SBAR NP VP",
        "NP VP PRT NP",
        "NP VP ADVP",
        "NP VP ADVP NP",
        "NP VP NP SBAR NP VP",
    ),
    *("NP CONJP NP VP ADJP", "INTJ NP VP NP", "LST NP VP PP NP ADVP", "NP VP ADJP SBAR NP VP", "NP PP NP VP"),
]


def _chunk(words: str, kind: str) -> list[str]:
    cells = words.split()
    pairs = zip(cells[::2], cells[1::2], strict=True)
    return [f"{word} {tag} {'I' if i else 'B'}-{kind}" for i, (word, tag) in enumerate(pairs)]


def chunks(n: int, first: str, seed: int) -> str:
    """Return ``first`` and n random sentences in CoNLL-2000's columns."""
    r = random.Random(seed)
    sentences = [first]
    for _ in range(n):
        kinds = r.choice(_PLANS).split() if r.random() < 0.6 else r.choices(list(_CHUNKS), k=4)
        rows = [row for kind in kinds for row in _chunk(r.choice(_CHUNKS[kind]), kind)]
        sentences.append("\n".join([*rows, ". . O"]))
    return "\n\n".join(sentences) + "\n"


_OPENING = "Confidence NN B-NP\nin IN B-PP\nthe DT B-NP\npound NN I-NP"
_COMPANY = "Rockwell NNP B-NP\nInternational NNP I-NP\nCorp. NNP I-NP"


def names(n: int, seed: int = 0) -> str:
    """Return random sentences with names of places and organisations."""
    r = random.Random(seed)
    words = ["ayer AQ O", "dijo VMI O", "en SP O", "la DA O", "ciudad NC O", "de SP O", "que PR O"]
    entities = ["EFECOM NP B-ORG", "España NP B-LOC", "Santander NP B-LOC", "Banco NP B-ORG\nde SP I-ORG"]
    sentences = [
        "\n".join([*r.choices(words, k=5), r.choice(entities), *r.choices(words, k=3)]) for _ in range(n)
    ]
    return "\n\n".join(sentences) + "\n"


def news() -> str:
    """Return three sentences without labels, with one name in the first and one in the last."""
    plain = ["ayer AQ", "dijo VMI", "en SP", "la DA", "ciudad NC", "de SP"]
    first = [*plain, "EFECOM NP"]
    last = [*plain, "que PR", "dijo VMI", *plain, "ayer AQ", "España NP", "que PR"]
    return "\n\n".join("\n".join(rows) for rows in (first, plain, last)) + "\n"


def readings() -> str:
    """Return values of a sensor, shift by shift."""
    r = random.Random(0)
    rows = ["shift,speed,state"]
    for i in range(240):
        broken = i % 8 > 5
        rows.append(f"{i // 12},{r.gauss(9 if broken else 2, 0.5):.3f},{'broken' if broken else 'fine'}")
    return "\n".join(rows) + "\n"


def table() -> str:
    """Return words of sentences, with a column for the document."""
    rows, sentence = ["document,sentence,word,label"], 0
    for line in names(20).splitlines():
        if not line:
            sentence += 1
            continue
        word, _, label = line.split()
        rows.append(f"{sentence // 4},{sentence},{word},{label}")
    return "\n".join(rows) + "\n"


def rings(n: int, seed: int = 0) -> str:
    """Return rings of four nodes as JSON lines, whose nodes say a little about their common label."""
    r, lines = random.Random(seed), []
    for _ in range(n):
        label = r.choice("AB")
        nodes = [["red" if (r.random() < 0.7) == (label == "A") else "blue"] for _ in range(4)]
        edges = [[0, 1], [1, 2], [2, 3], [3, 0]]
        lines.append(json.dumps({"nodes": nodes, "edges": edges, "labels": [label] * 4}))
    return "\n".join(lines) + "\n"


def conllu() -> str:
    sentence = [("he", "PRON", "O"), ("visits", "VERB", "O"), ("Rome", "PROPN", "B-LOC")]
    rows = "".join(
        f"{i}\t{word}\t_\t{tag}\t_\t_\t{i - 1}\tdep\t_\tNE={ne}\n"
        for i, (word, tag, ne) in enumerate(sentence, start=1)
    )
    return (rows + "\n") * 10


def genome() -> tuple[str, str]:
    """Return the FASTA and GFF3 of one contig with 40 genes, long enough for the page's region."""
    sequences, exons = random_windows(40, seed=12)
    text, lines = "", ["##gff-version 3"]
    for i, (sequence, parts) in enumerate(zip(sequences, exons, strict=True)):
        at, phase = len(text), 0
        for a, b in parts:
            lines.append(f"CP003821.1\tmade\tCDS\t{at + a + 1}\t{at + b}\t.\t+\t{phase}\tParent=t{i}")
            phase = (phase - (b - a)) % 3
        text += sequence
    text += "N" * (295_000 - len(text))  # no site can be there, so that it takes no time
    return f">CP003821.1\n{text}\n", "\n".join(lines) + "\n"


def prices(folder: Path) -> None:
    folder.mkdir()
    for seed, ticker in enumerate(("AAPL", "BA")):
        made = random_prices(420, seed, ticker)
        rows = [f"{date},{price}" for date, price in zip(made.dates, made.close, strict=True)]
        (folder / f"{ticker}.csv").write_text("date,close\n" + "\n".join(rows) + "\n", encoding="utf-8")


def write_files(folder: Path) -> None:
    """Write all of them into a folder."""
    texts = {
        "train.txt": chunks(160, f"{_OPENING}\n\n{_COMPANY}", seed=0),
        "test.txt": chunks(60, _COMPANY, seed=1),
        "rest.txt": chunks(60, _OPENING, seed=2),
        "dev.txt": chunks(40, _OPENING, seed=3),
        "names.txt": names(60),
        "labelled.txt": names(60).replace(" O\n", " _\n", 3),  # crfkit annotate --export
        "news.txt": news(),
        "new.txt": names(10),
        "data.txt": "B-X\tw=a\nI-X\tw=b\nO\tw=c\n\n" * 10,  # CRFsuite's
        "series.txt": "\n\n".join(["a A\nb B\n" * 65] * 3),
        **dict.fromkeys(("chunking.template", "template", "pattern", "a.template"), TEMPLATE),
        "words.template": TEMPLATE + "B01:%x[0,0]\n",
        "b.template": "U00:%x[0,0]\nB\n",
        "cities.txt": "the hill\nMr. Lawson\nthe pound\n",
        "readings.csv": readings(),
        "new.csv": readings(),
        "table.csv": table(),
        "graphs.jsonl": rings(40),
        "new.jsonl": rings(10, seed=1),
        **dict.fromkeys(("en_ewt-ud-train.conllu", "fr.conllu", "new.conllu"), conllu()),
        **dict(zip(("genome.fasta", "annotation.gff3"), genome(), strict=True)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "tests" / "io" / "foreign_models" / "crfpp_tiny.model", folder / "old.model")
    prices(folder / "prices")
