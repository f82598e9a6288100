"""The features of the address parser usaddress, written with the builder: attribute for attribute the same.

Its own model, trained with CRFsuite, then takes tokens:
CRF.load("usaddr.crfsuite", extractor=usaddress_features(…)).
Saved as a model of crfkit, the features are in the file.
"""

from collections.abc import Iterable
from typing import Any

from crfkit import CRF
from crfkit.features import Features, first, last, token


def usaddress_features(directions: Iterable[str], street_names: Iterable[str]) -> Features:
    """Return the features; directions and kinds of streets are lists of words."""
    word = token()
    # Without marks at the ends, except dots behind; "&" and "#" stay.
    clean = word.strip(r"[\W]", "left", right=False, keep_whole=True)
    clean = clean.strip(r"[^.\w]", "clean", left=False, keep_whole=True)
    short = clean.lower().remove("[.]", "short")
    number = short.test(str.isdigit, "number")
    digits, some = clean.test(str.isdigit, "all"), clean.has("[0-9]", "some")
    tail, marks = word.suffix(1), word.skip(1).has(r"[^.\w]", "marks")
    described: list[tuple[Any, str]] = [
        (clean.suffix(1).only_has("[.]", "dot"), "abbrev"),
        (digits, "digits:all_digits"),
        (~digits & some, "digits:some_digits"),
        (~digits & ~some, "digits:no_digits"),
        (short & ~number, "word:"),
        (short.tail("[0]", "zeros") & number, "trailing.zeros:"),
        (short.length() & number, "length:d:"),
        (short.length() & ~number, "length:w:"),
        (tail & marks, "endsinpunc:"),
        (short.member(directions, "direction"), "directional"),
        (short.member(street_names, "street"), "street_name"),
        (short.skip(1).has("[aeiou]", "vowels"), "has.vowels"),
    ]
    made = [extractor.written_as(name) for extractor, name in described]
    for offset, neighbour in ((1, "next:"), (-1, "previous:")):
        made += [extractor[offset].written_as(neighbour + name) for extractor, name in described]
    made += [first().written_as("address.start"), last().written_as("address.end")]
    made += [first()[-1].written_as("previous:address.start"), last()[1].written_as("next:address.end")]
    return Features(*made, padding=False)


if __name__ == "__main__":
    features = usaddress_features(["n", "north", "sw"], ["st", "street", "ave"])
    print(len(features.names), "kinds of attributes; those of N. in 123 N. Main St.:")
    print(features.transform([["123", "N.", "Main", "St.,"]])[0][1])
    X = [["12", "Main", "St."], ["7", "N.", "Oak", "Ave"], ["The", "White", "House"]]
    y = [["Number", "Name", "Type"], ["Number", "Direction", "Name", "Type"], ["Landmark"] * 3]
    model = CRF(extractor=features, c2=0.01).fit(X, y)
    print(model.predict([["9", "N.", "Elm", "St."]])[0])
