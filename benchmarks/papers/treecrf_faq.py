"""Lines of FAQ documents: head, question, answer or tail; leave one document out.

Perl's nine FAQ files stand in for the paper's Usenet FAQs, which are lost; their labels come from the
markup, so they are easier. Twenty features a line, after McCallum, Freitag and Pereira (ICML 2000).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tables import seconds, table
from tasks import data_directory

from crfkit import CRF, TreeCRF
from crfkit.metrics import token_report

Lines = list[list[dict[str, Any]]]
Labels = list[list[str]]

_QUESTION_WORD = r"(how|what|why|where|when|who|which|is|are|can|do|does|should)\b"
FEATURES: dict[str, Callable[[str], Any]] = {
    "begins with a number": lambda line: bool(re.match(r"\s*\d", line)),
    "begins with an ordinal": lambda line: bool(re.match(r"\s*(\d+[.)]|first|second|third)", line, re.I)),
    "begins with punctuation": lambda line: bool(re.match(r"\s*[^\w\s]", line)),
    "begins with a question word": lambda line: bool(re.match(r"\s*" + _QUESTION_WORD, line, re.I)),
    "blank": lambda line: not line.strip(),
    "contains letters or digits": lambda line: bool(re.search(r"\w", line)),
    "contains a bracketed number": lambda line: bool(re.search(r"[\[(]\d+[\])]", line)),
    "contains http": lambda line: "http" in line,
    "contains a number": lambda line: bool(re.search(r"\d", line)),
    "contains |": lambda line: "|" in line,
    "contains ?": lambda line: "?" in line,
    "contains a question word": lambda line: bool(re.search(r"\b" + _QUESTION_WORD, line, re.I)),
    "ends with ?": lambda line: line.rstrip().endswith("?"),
    "first letter is a capital": lambda line: bool(re.match(r"[^A-Za-z]*[A-Z]", line)),
    "all letters are capitals": lambda line: line.upper() == line and line.lower() != line,
    "indented by": lambda line: len(line) - len(line.lstrip()) if line.strip() else None,
    "share of blanks": lambda line: line.count(" ") / len(line) if line else None,
    "only punctuation": lambda line: bool(re.fullmatch(r"[^\w]+", line.strip())),
    "length": len,
    "shorter than 30": lambda line: len(line) < 30,
}


def read_documents() -> tuple[Lines, Labels]:
    X: Lines = []
    y: Labels = []
    for path in sorted(data_directory("faq").glob("*.tsv")):
        rows = [line.partition("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        y.append([label for label, _, _ in rows])
        X.append([{name: rule(text) for name, rule in FEATURES.items()} for _, _, text in rows])
    return X, y


def around(document: list[dict[str, Any]], reach: int) -> list[list[str]]:
    """The features of a line and of its neighbours as attributes; numbers in steps."""
    items: list[list[str]] = []
    for t in range(len(document)):
        item = []
        for step in range(-reach, reach + 1):
            if not 0 <= t + step < len(document):
                item.append(f"{step}:outside")
                continue
            for name, value in document[t + step].items():
                if value is True:
                    item.append(f"{step}:{name}")
                elif value is not None and value is not False:
                    number = int(10 * value) if name == "share of blanks" else min(int(value), 80)
                    item.append(f"{step}:{name}={number if number < 12 else number // 10 * 10}")
        items.append(item)
    return items


def linear(reach: int) -> Callable[[Lines, Labels, Lines], Labels]:
    def run(X: Lines, y: Labels, Xt: Lines) -> Labels:
        model = CRF(c2=0.1, tol=1e-4, n_jobs=1).fit([around(x, reach) for x in X], y)
        return model.predict([around(x, reach) for x in Xt])

    return run


def trees(window: int, **settings: Any) -> Callable[[Lines, Labels, Lines], Labels]:
    def run(X: Lines, y: Labels, Xt: Lines) -> Labels:
        model = TreeCRF(window=window, n_jobs=1, **{"n_iterations": 60, "decode": "viterbi", **settings})
        return model.fit(X, y).predict(Xt)

    return run


def lightgbm(reach: int) -> Callable[[Lines, Labels, Lines], Labels]:
    def rows(X: Lines) -> np.ndarray:
        found = []
        for document in X:
            own = np.array([[np.nan if v is None else float(v) for v in line.values()] for line in document])
            padded = np.full((len(own) + 2 * reach, own.shape[1]), np.nan)
            padded[reach : reach + len(own)] = own
            found.append(np.hstack([padded[k : k + len(own)] for k in range(2 * reach + 1)]))
        return np.concatenate(found)

    def run(X: Lines, y: Labels, Xt: Lines) -> Labels:
        import lightgbm as library

        model = library.LGBMClassifier(n_estimators=100, num_leaves=15, n_jobs=1, verbose=-1)
        model.fit(rows(X), np.array([label for labels in y for label in labels]))
        return [model.predict(rows([x])).tolist() for x in Xt]

    return run


def report(arguments: argparse.Namespace) -> str:
    X, y = read_documents()
    few: dict[str, Any] = {}
    if arguments.quick:
        X, y, few = [x[:150] for x in X[:3]], [labels[:150] for labels in y[:3]], {"n_iterations": 3}
    models = {
        "LightGBM, own line": lightgbm(0),
        "LightGBM, ±1 line": lightgbm(1),
        "linear CRF, own line": linear(0),
        "linear CRF, ±1 line": linear(1),
        "TreeCRF, own line": trees(1, **few),
        "TreeCRF, ±1 line": trees(3, **few),
    }
    rows = []
    for name, run in models.items():
        if arguments.only and arguments.only not in name:
            continue
        began = time.perf_counter()
        found: Labels = []
        for i in range(len(X)):
            found += run(X[:i] + X[i + 1 :], y[:i] + y[i + 1 :], [X[i]])
        spent = (time.perf_counter() - began) / len(X)
        wrong = sum(a != b for t, p in zip(y, found, strict=True) for a, b in zip(t, p, strict=True))
        macro = token_report(y, found).macro.f1
        rows.append([name, f"{wrong:,}", f"{100 * macro:.1f}", seconds(spent)])
        print(rows[-1], file=sys.stderr, flush=True)
    lines = sum(map(len, y))
    return (
        f"### FAQ\n\n{len(X)} documents, {lines:,} lines. The paper's FAQs are other ones, and it gives no "
        "numbers but curves: TreeCRF better than Mallet on ai-general, worse on ai-neural and aix. Nothing "
        "is tuned.\n\n"
    ) + table(["model", "errors", "macro-F1", "time a document left out"], rows)
