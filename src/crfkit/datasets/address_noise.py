"""Noise in addresses, as made by people, forms and scanners.

Three stages: ``rearrange`` works on lines and parts (left out, moved, extra words), ``separate`` turns them
into tokens with or without commas between, ``blur`` damages letters (abbreviations, case, typing errors,
misread characters). Each takes the strength of the noise, 0 (none) to 1 (hard to read even for people).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from random import Random

from crfkit.datasets.address_formats import Line, Part

Token = tuple[str, str]  # text, label in IOB2


def _pairs(text: str) -> dict[str, str]:
    """Read entries ``from=to``."""
    return dict(entry.split("=", 1) for entry in text.split())


_ABBREVIATIONS = _pairs("""
    Street=St|St.|Str Avenue=Ave|Ave.|Av Road=Rd|Rd. Boulevard=Blvd|Blvd. Drive=Dr|Dr. Lane=Ln|Ln.
    Court=Ct|Ct. Place=Pl|Pl. Parkway=Pkwy Circle=Cir Highway=Hwy Terrace=Ter|Terr Trail=Trl
    Square=Sq|Sq. Crescent=Cres Gardens=Gdns Close=Cl North=N|N. South=S|S. East=E|E. West=W|W.
    Saint=St|St. Fort=Ft|Ft. rue=r.|R. avenue=av.|ave boulevard=bd|bvd place=pl.|pl chemin=ch.|chem.
    Straße=Str.|Strasse Rua=R.|R Avenida=Av.|Av Travessa=Tv.|Trav. Rodovia=Rod. Praça=Pça|Pça.
    Doutor=Dr.|Dr Via=V.|v. Viale=V.le Piazza=P.za|P.zza Corso=C.so Apartment=Apt|Apt.|Appt
    Suite=Ste|Ste. Floor=Fl|Fl. Deutschland=D Jardim=Jd.|Jd""")
_ENDINGS = {"straße": "str. strasse str", "platz": "pl. platz", "straat": "str. str", "plein": "pln"}
_MISREAD = _pairs("""
    0=O O=0 1=l l=1 I=1 5=S S=5 8=B B=8 2=Z Z=2 6=b g=9 rn=m m=rn cl=d d=cl vv=w w=vv e=c ü=ii ß=B ä=a
    ö=o h=b u=v""")
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890")
_OPTIONAL = {
    "country": 0.5,
    "region": 0.4,
    "recipient": 0.3,
    "postcode": 0.35,
    "district": 0.4,
    "city": 0.12,
    "number": 0.1,
}
_EXTRA = (
    "Attn:",
    "c/o",
    "Tel.",
    "To:",
    "Address:",
    "Ship to",
    "Deliver to",
    "Rechnung an",
    "Fragile",
    "URGENT",
    "z.Hd.",
    "A/C",
)


def rearrange(lines: list[Line], noise: float, r: Random) -> list[Line]:
    """Leave parts out, swap neighbouring parts or lines, and put extra words in."""
    kept = [[part for part in line if r.random() >= noise * _OPTIONAL.get(part.label, 0.0)] for line in lines]
    result = [line for line in kept if line] or [lines[-1]]
    for line in result:
        if len(line) > 1 and r.random() < 0.2 * noise:
            i = r.randrange(len(line) - 1)
            line[i], line[i + 1] = line[i + 1], line[i]
    if len(result) > 1 and r.random() < 0.35 * noise:
        i = r.randrange(len(result) - 1)
        result[i], result[i + 1] = result[i + 1], result[i]
    if r.random() < 0.3 * noise:
        result.insert(0, [Part("O", r.choice(_EXTRA))])
    if r.random() < 0.2 * noise:
        word = r.choice(["Tel.", "tel", "Phone", "Fon", ""])
        phone = f"{word} +{r.randint(1, 99)} {r.randint(10, 999)} {r.randint(1000, 9999999)}"
        result.append([Part("O", phone.strip())])
    return result


def separate(lines: list[Line], noise: float, r: Random) -> list[Token]:
    """Split parts into tokens and put, or leave out, commas and other marks between the lines."""
    mark = r.choices([",", ";", "-", "|", "/"], [20, 1, 3, 1, 1])[0]
    forget = r.random() < 0.9 * noise  # this writer uses no marks at all
    tokens: list[Token] = []
    for n, line in enumerate(lines):
        for part in line:
            prefixes = ("O", "O") if part.label == "O" else (f"B-{part.label}", f"I-{part.label}")
            tokens += [(word, prefixes[i > 0]) for i, word in enumerate(part.text.split())]
        if n == len(lines) - 1 or forget or r.random() < 0.3 * noise:
            continue
        if mark == "," and r.random() < 0.6:
            text, label = tokens[-1]
            tokens[-1] = (text + mark, label)
        else:
            tokens.append((mark, "O"))
    return tokens


def _strip_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)).replace(
        "ß", "ss"
    )


def _abbreviate(word: str, r: Random) -> str:
    bare = word.rstrip(",")
    if bare in _ABBREVIATIONS:
        return r.choice(_ABBREVIATIONS[bare].split("|")) + word[len(bare) :]
    for ending, short in _ENDINGS.items():
        if bare.endswith(ending) and len(bare) > len(ending):
            return bare.removesuffix(ending) + r.choice(short.split()) + word[len(bare) :]
    return word


def _mistype(word: str, r: Random) -> str:
    i = r.randrange(len(word))
    kind = r.randrange(4)
    if kind == 0 and i + 1 < len(word):
        return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if kind == 1 and len(word) > 2:
        return word[:i] + word[i + 1 :]
    if kind == 2:
        return word[:i] + word[i] + word[i:]
    row = next((row for row in _KEYBOARD if word[i].lower() in row), "")
    if not row:
        return word
    near = row[max(0, row.index(word[i].lower()) - 1) : row.index(word[i].lower()) + 2]
    return word[:i] + r.choice(near) + word[i + 1 :]


def _misread(word: str, r: Random) -> str:
    found = [seen for seen in _MISREAD if seen in word]
    if not found:
        return word
    seen = r.choice(found)
    return word.replace(seen, _MISREAD[seen], 1)


def blur(tokens: list[Token], noise: float, r: Random) -> list[Token]:
    """Abbreviate, change case, drop accents, mistype, misread, and break or glue words."""
    shorten, typing, scanning = noise, 0.12 * noise, 0.25 * noise * (r.random() < 0.3)
    cases: list[Callable[[str], str]] = [str, str.upper, str.lower]
    case = r.choices(cases, [1.0, 0.5 * noise, 0.5 * noise])[0]
    plain = r.random() < 0.6 * noise
    result: list[Token] = []
    for text, label in tokens:
        word = _abbreviate(text, r) if r.random() < shorten else text
        if r.random() < typing:
            word = _mistype(word, r)
        if r.random() < scanning:
            word = _misread(word, r)
        word = case(_strip_accents(word) if plain else word)
        if len(word) > 5 and word.isalpha() and label != "O" and r.random() < 0.03 * noise:
            cut = r.randrange(2, len(word) - 2)
            result += [(word[:cut], label), (word[cut:], label.replace("B-", "I-"))]
        elif result and label.startswith("I-") and r.random() < 0.03 * noise:
            result[-1] = (result[-1][0] + word, result[-1][1])
        else:
            result.append((word, label))
    return result
