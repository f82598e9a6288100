"""Generated DNA with genes, for tests without real data."""

from itertools import pairwise

import numpy as np

STOPS = ("TAA", "TAG", "TGA")


def random_bases(rng: np.random.Generator, n: int, probabilities=(0.3, 0.2, 0.2, 0.3)) -> str:
    return "".join(rng.choice(list("ACGT"), size=n, p=probabilities))


def random_codon(rng: np.random.Generator) -> str:
    """Return a GC-rich codon, so that coding regions can be recognised; never a stop."""
    while True:
        codon = "".join(
            rng.choice(list("ACGT"), p=p)
            for p in ((0.2, 0.2, 0.5, 0.1), (0.4, 0.2, 0.2, 0.2), (0.05, 0.45, 0.45, 0.05))
        )
        if codon not in STOPS:
            return codon


def random_gene(
    rng: np.random.Generator, n_exons: int = 3, codons: int = 60
) -> tuple[str, list[tuple[int, int]]]:
    """Return a gene with introns, and its exons from its first base on."""
    coding = "ATG" + "".join(random_codon(rng) for _ in range(codons)) + str(rng.choice(STOPS))
    # At least 10 bases apart.
    steps = sorted(rng.choice(np.arange(1, len(coding) // 10), size=n_exons - 1, replace=False).tolist())
    cuts = [10 * step - int(rng.integers(0, 3)) for step in steps]
    text, exons = "", []
    for begin, end in zip([0, *cuts], [*cuts, len(coding)], strict=True):
        if begin:
            body = random_bases(rng, int(rng.integers(25, 45)), (0.35, 0.1, 0.05, 0.5))
            text += "GTAAGT" + body + "CTAACTTTTTCAG"
        exons.append((len(text), len(text) + end - begin))
        text += coding[begin:end]
    return text, exons


def random_windows(n: int, seed: int = 0, flank: int = 120) -> tuple[list[str], list[list[tuple[int, int]]]]:
    """Return n windows with one gene each."""
    rng = np.random.default_rng(seed)
    sequences, exons = [], []
    for _ in range(n):
        gene, parts = random_gene(rng, n_exons=int(rng.integers(1, 5)))
        left, right = random_bases(rng, flank), random_bases(rng, flank)
        sequences.append(left + gene + right)
        exons.append([(a + flank, b + flank) for a, b in parts])
    return sequences, exons


def reverse_complement(sequence: str) -> str:
    return sequence[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca"))


def spliced(sequence: str, exons: list[tuple[int, int]]) -> str:
    return "".join(sequence[a:b] for a, b in exons)


def is_legal(sequence: str, exons: list[tuple[int, int]], donors=("GT",)) -> bool:
    """Check start, stop, no stop in between, and splice sites of a whole gene in reading direction."""
    coding = spliced(sequence, exons)
    codons = [coding[i : i + 3] for i in range(0, len(coding), 3)]
    sites = all(
        sequence[a[1] : a[1] + 2] in donors and sequence[b[0] - 2 : b[0]] == "AG" for a, b in pairwise(exons)
    )
    return (
        len(coding) % 3 == 0
        and codons[0] == "ATG"
        and codons[-1] in STOPS
        and not any(codon in STOPS for codon in codons[:-1])
        and sites
    )
