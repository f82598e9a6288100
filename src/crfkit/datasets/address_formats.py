"""The address formats of seven countries: the parts, their order, and their lines.

An address is a list of lines, a line is a list of parts, and a part is a label with its text. There is no
noise here: ``address_noise`` adds the errors of people, forms and scanners.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import NamedTuple

from crfkit.datasets import address_words as vocabulary


class Part(NamedTuple):
    """One field of an address."""

    label: str
    text: str


Line = list[Part]
Format = Callable[[Random], list[Line]]

# Every label a part can have; "O" marks tokens that belong to no field (commas, "c/o", a phone number).
FIELDS = (
    *("recipient", "company", "number", "street", "unit", "district"),
    *("city", "region", "postcode", "country", "box"),
)


@cache
def _list(text: str) -> tuple[str, ...]:
    return tuple(vocabulary.words(text))


def _pick(r: Random, text: str) -> str:
    return r.choice(_list(text))


def _person(r: Random, language: str, titles: str) -> str:
    first, last = _pick(r, vocabulary.FIRST_NAMES[language]), _pick(r, vocabulary.LAST_NAMES[language])
    form = r.random()
    if form < 0.15:
        first = f"{first[0]}."
    elif form < 0.27:
        first = f"{first} {_pick(r, vocabulary.FIRST_NAMES[language])[0]}."
    if language == "nl" and r.random() < 0.4:
        last = f"{r.choice(['van der', 'van', 'de', 'van den'])} {last}"
    if r.random() < 0.08:
        last = f"{last}-{_pick(r, vocabulary.LAST_NAMES[language])}"
    if form > 0.85:
        return f"{last}, {first}"
    title = f"{_pick(r, titles)} " if r.random() < 0.2 else ""
    return f"{title}{first} {last}"


def _company(r: Random, language: str) -> str:
    kind = _pick(r, vocabulary.COMPANY_KINDS[language])
    if r.random() < 0.5:
        return f"{_pick(r, vocabulary.COMPANY_STEMS)} {kind}"
    return f"{_pick(r, vocabulary.LAST_NAMES[language])} {kind}"


def _head(r: Random, language: str, titles: str) -> list[Line]:
    """Return the addressee: a person, a company, both, or nobody."""
    lines = []
    kind = r.random()
    if kind < 0.6 or kind > 0.92:
        lines.append([Part("recipient", _person(r, language, titles))])
    if 0.6 <= kind < 0.82 or kind > 0.92:
        lines.append([Part("company", _company(r, language))])
    return lines


def _town(r: Random, language: str, country: str) -> str:
    if r.random() < 0.45:
        return _pick(r, vocabulary.CITIES[country])
    stems, endings = vocabulary.TOWN_PARTS[language]
    return _pick(r, stems) + _pick(r, endings)


def _region(r: Random, country: str, short: float) -> str:
    abbreviation, name = _pick(r, vocabulary.REGIONS[country]).split(":")
    return abbreviation if r.random() < short else name


def _tail(r: Random, country: str, probability: float) -> list[Line]:
    if r.random() < probability:
        return [[Part("country", _pick(r, vocabulary.COUNTRIES[country]))]]
    return []


def _digits(r: Random, n: int) -> str:
    return "".join(r.choice("0123456789") for _ in range(n))


def _house(r: Random, letters: float = 0.1) -> str:
    number = str(int(r.choice([30, 200, 1000]) * r.random()) + 1)
    return number + (r.choice("abcd") if r.random() < letters else "")


def united_states(r: Random) -> list[Line]:
    """Make an address like 742 Evergreen Terrace Apt 3B, Springfield, IL 62704."""
    kinds = "Street Avenue Road Boulevard Drive Lane Court Place Way Parkway Circle Highway Terrace Trail"
    kind = _pick(r, kinds)
    choice = r.random()
    if choice < 0.2:
        n = r.randint(1, 120)
        ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, "th")
        name = f"{n}{ending}"
    elif choice < 0.5:
        name = _pick(r, vocabulary.LAST_NAMES["en"])
    elif choice < 0.6:
        name = _pick(r, vocabulary.CITIES["US"])
    elif choice < 0.65:
        name = "Martin Luther King Jr."
    else:
        stems, endings = vocabulary.TOWN_PARTS["en"]
        name = _pick(r, stems) + r.choice(
            [_pick(r, endings), f" {_pick(r, stems)}", " Hill", " Creek", " Ridge"]
        )
    direction = r.choice(["North", "South", "East", "West", "NW", "SE"]) if r.random() < 0.25 else ""
    street = f"{direction} {name} {kind}" if r.random() < 0.8 else f"{name} {kind} {direction}"
    if r.random() < 0.04:
        street = f"State Route {r.randint(1, 400)}"
    if r.random() < 0.06:
        where = [Part("box", f"{r.choice(['PO Box', 'P.O. Box', 'Box', 'POB'])} {r.randint(1, 9999)}")]
    else:
        number = str(r.randint(1, r.choice([99, 999, 19999])))
        where = [Part("number", number), Part("street", street.strip())]
    lines = [*_head(r, "en", "Mr. Mrs. Ms. Dr. Prof."), where]
    if r.random() < 0.3:
        letter = r.choice("ABCDEFG")
        unit = r.choice([f"{r.randint(1, 40)}{letter}", str(r.randint(1, 999)), letter])
        form = r.choice(["Apt ", "Apartment ", "Suite ", "Ste ", "Unit ", "#", "# ", "Floor ", "Rm "])
        where.append(Part("unit", form + unit))
    city = [Part("city", _town(r, "en", "US")), Part("region", _region(r, "US", 0.8))]
    city.append(Part("postcode", _digits(r, 5) + (f"-{_digits(r, 4)}" if r.random() < 0.12 else "")))
    return [*lines, city, *_tail(r, "US", 0.25)]


def united_kingdom(r: Random) -> list[Line]:
    """Make an address like Flat 2, 14 Church Lane, Headington, Oxford, Oxon OX3 7BQ."""
    kinds = "Street Road Lane Avenue Close Gardens Crescent Grove Terrace Mews Drive Way Row Hill Square Walk"
    kind = _pick(r, kinds)
    stems, endings = vocabulary.TOWN_PARTS["en"]
    first = r.choice(
        [
            _pick(r, stems) + _pick(r, endings),
            _pick(r, vocabulary.LAST_NAMES["en"]),
            _pick(r, vocabulary.CITIES["GB"]),
            _pick(r, "High Church Station Park Victoria Mill London St._John's Queen's King's"),
        ]
    )
    lines = _head(r, "en", "Mr Mrs Ms Dr Sir")
    if r.random() < 0.3:
        unit = r.choice([str(r.randint(1, 60)), r.choice("ABCDE")])
        lines.append([Part("unit", f"{_pick(r, 'Flat Unit Floor Apartment Room')} {unit}")])
    house = _house(r)
    if r.random() < 0.15:
        house = f"{_pick(r, stems)} {r.choice(['House', 'Cottage', 'Lodge', 'Court', 'Barn'])}"
    lines.append([Part("number", house), Part("street", f"{first} {kind}")])
    if r.random() < 0.3:
        lines.append([Part("district", _pick(r, stems) + _pick(r, endings))])
    lines.append([Part("city", _town(r, "en", "GB"))])
    if r.random() < 0.3:
        lines.append([Part("region", _region(r, "GB", 0.5))])
    area = _pick(r, "SW SE N E W EC WC NW B M L LS S BS CB OX RG BN EH G CF NE NG PL SO DE ST")
    outward, inward = (
        f"{area}{r.randint(1, 28)}",
        f"{r.randint(1, 9)}{r.choice('ABDEFG')}{r.choice('PQRSTU')}",
    )
    lines.append([Part("postcode", f"{outward} {inward}")])
    return [*lines, *_tail(r, "GB", 0.3)]


def germany(r: Random) -> list[Line]:
    """Make an address like Lindenstraße 12a, 50674 Köln."""
    stems, endings = vocabulary.TOWN_PARTS["de"]
    last = _pick(r, vocabulary.LAST_NAMES["de"])
    choice = r.random()
    kind = _pick(r, "straße straße straße weg allee platz gasse ring damm ufer stieg")
    if choice < 0.45:
        street = _pick(r, stems) + kind
    elif choice < 0.6:
        street = f"{_pick(r, stems)}{_pick(r, endings)}er {kind.capitalize()}"
    elif choice < 0.8:
        street = f"{_pick(r, vocabulary.FIRST_NAMES['de'])}-{last}-{kind.capitalize()}"
    elif choice < 0.9:
        where_to = _pick(r, "Am An_der Auf_dem Im Zum Unter_den")
        street = f"{where_to} {_pick(r, stems)}{r.choice(['berg', 'bach', 'feld', 'graben', ''])}"
    else:
        street = last + kind
    house = _house(r, 0.2)
    if r.random() < 0.06:
        house = f"{house}-{int(house.rstrip('abcd')) + r.choice([2, 4])}"
    where = [Part("street", street), Part("number", house)]
    if r.random() < 0.05:
        where = [Part("box", f"Postfach {r.randint(10, 99)} {_digits(r, 2)} {_digits(r, 2)}")]
    lines = [*_head(r, "de", "Herr Frau Dr. Prof._Dr. Familie"), where]
    if r.random() < 0.15:
        floor = r.randint(1, 5)
        units = [
            f"{floor}. OG",
            f"{floor}. Stock links",
            f"Whg. {r.randint(1, 40)}",
            "Hinterhaus",
            "EG rechts",
        ]
        lines.append([Part("unit", r.choice(units))])
    prefix = r.choice(["", "", "", "", "D-", "DE-"])
    city = [Part("postcode", prefix + _digits(r, 5)), Part("city", _town(r, "de", "DE"))]
    if r.random() < 0.1:
        village = _pick(r, stems) + _pick(r, endings)
        city.append(Part("district", r.choice(["Mitte", "Nord", "Altstadt", village])))
    return [*lines, city, *_tail(r, "DE", 0.2)]


def france(r: Random) -> list[Line]:
    """Make an address like 12 bis rue Victor Hugo, Bât. C, 75008 Paris Cedex 08."""
    kind = _pick(r, "rue rue rue avenue boulevard place impasse allée chemin quai cours square route")
    first, last = _pick(r, vocabulary.FIRST_NAMES["fr"]), _pick(r, vocabulary.LAST_NAMES["fr"])
    town = _town(r, "fr", "FR")
    name = r.choice(
        [
            f"{first} {last}",
            f"de {town}",
            f"du Général {last}",
            f"Saint-{first}",
            f"des {last}s",
            "de la République",
            "de l'Église",
            f"du {r.randint(1, 30)} {r.choice(_list('Mai Août Juin Novembre'))} 19{_digits(r, 2)}",
            f"de la {r.choice(_list('Gare Mairie Fontaine Paix Liberté Forêt'))}",
        ]
    )
    house = f"{r.randint(1, 250)}" + (f" {r.choice(['bis', 'ter', 'B'])}" if r.random() < 0.15 else "")
    lines = _head(r, "fr", "M. Mme Mlle Dr Me")
    if r.random() < 0.2:
        units = [f"Bât. {r.choice('ABCDE')}", f"Appt {r.randint(1, 99)}", f"{r.randint(1, 8)}e étage"]
        lines.append([Part("unit", r.choice([*units, f"Résidence {last}", f"Escalier {r.choice('ABC')}"]))])
    lines.append([Part("number", house), Part("street", f"{kind} {name}")])
    if r.random() < 0.06:
        lines[-1] = [Part("box", f"BP {r.randint(1, 90000)}")]
    cedex = f" Cedex {r.randint(1, 20):02d}" if r.random() < 0.1 else ""
    prefix = "F-" if r.random() < 0.05 else ""
    lines.append([Part("postcode", prefix + _digits(r, 5)), Part("city", _town(r, "fr", "FR") + cedex)])
    return [*lines, *_tail(r, "FR", 0.25)]


def brazil(r: Random) -> list[Line]:
    """Make an address like Rua XV de Novembro, 123, apto 31 - Centro - Curitiba - PR, 80020-310."""
    kind = _pick(r, "Rua Rua Rua Avenida Travessa Alameda Praça Rodovia Estrada Largo")
    first, last = _pick(r, vocabulary.FIRST_NAMES["pt"]), _pick(r, vocabulary.LAST_NAMES["pt"])
    name = r.choice(
        [
            f"{first} {last}",
            f"{first} {last} {_pick(r, vocabulary.LAST_NAMES['pt'])}",
            f"São {first}",
            f"Doutor {last}",
            f"Barão de {_town(r, 'pt', 'BR')}",
            f"{r.randint(1, 30)} de {r.choice(_list('Novembro Setembro Maio Julho'))}",
            f"dos {r.choice(_list('Pinheiros Andradas Bandeirantes Ipês'))}",
            _town(r, "pt", "BR"),
        ]
    )
    number = r.choice([str(r.randint(1, 3000)), str(r.randint(1, 400)), f"nº {r.randint(1, 900)}", "s/n"])
    lines = _head(r, "pt", "Sr. Sra. Dr. Dra.")
    lines += [[Part("street", f"{kind} {name}")], [Part("number", number)]]
    if r.random() < 0.3:
        n = r.randint(1, r.choice([9, 40, 400]))
        units = [
            f"apto {n}",
            f"Apto. {n}",
            f"bloco {r.choice('ABCD')}",
            f"{n}º andar",
            f"sala {n}",
            f"casa {n}",
        ]
        lines.append([Part("unit", r.choice(units))])
    if r.random() < 0.6:
        kind = _pick(r, "Jardim Vila Parque Bairro")
        lines.append(
            [Part("district", r.choice(["Centro", "Boa Vista", f"{kind} {last}", f"{kind} {first}"]))]
        )
    lines.append([Part("city", _town(r, "pt", "BR"))])
    lines.append([Part("region", _region(r, "BR", 0.85))])
    lines.append([Part("postcode", f"{r.choice(['', '', 'CEP '])}{_digits(r, 5)}-{_digits(r, 3)}")])
    return [*lines, *_tail(r, "BR", 0.2)]


def italy(r: Random) -> list[Line]:
    """Make an address like Via Giuseppe Garibaldi, 15, 20121 Milano MI."""
    kind = _pick(r, "Via Via Via Viale Piazza Corso Vicolo Largo Strada")
    first, last = _pick(r, vocabulary.FIRST_NAMES["it"]), _pick(r, vocabulary.LAST_NAMES["it"])
    day = f"{_pick(r, 'XX IV XXV')} {_pick(r, 'Settembre Novembre Aprile')}"
    thing = f"della {_pick(r, 'Libertà Repubblica Chiesa Stazione')}"
    name = r.choice([f"{first} {last}", last, _town(r, "it", "IT"), f"San {first}", day, thing])
    house = r.choice([_house(r, 0.05), f"n. {r.randint(1, 200)}", f"{r.randint(1, 99)}/{r.choice('ABC')}"])
    lines = _head(r, "it", "Sig. Sig.ra Dott. Avv.")
    lines.append([Part("street", f"{kind} {name}"), Part("number", house)])
    if r.random() < 0.15:
        units = [f"int. {r.randint(1, 30)}", f"Scala {r.choice('ABC')}", f"Piano {r.randint(1, 9)}"]
        lines.append([Part("unit", r.choice(units))])
    city = [Part("postcode", _digits(r, 5)), Part("city", _town(r, "it", "IT"))]
    if r.random() < 0.75:
        code = _region(r, "IT", 1.0)
        city.append(Part("region", r.choice([code, f"({code})"])))
    return [*lines, city, *_tail(r, "IT", 0.25)]


def netherlands(r: Random) -> list[Line]:
    """Make an address like Keizersgracht 123-II, 1015 CJ Amsterdam."""
    stems, endings = vocabulary.TOWN_PARTS["nl"]
    kind = _pick(r, "straat straat straat weg laan gracht plein kade dijk hof singel")
    stem, prince = _pick(r, stems), f"Prins {_pick(r, vocabulary.FIRST_NAMES['nl'])}"
    base = r.choice([stem, stem + _pick(r, endings), _pick(r, vocabulary.LAST_NAMES["nl"]), prince])
    where = [Part("street", base + kind), Part("number", _house(r, 0.15))]
    if r.random() < 0.2:
        units = ["bis", "II", "III", "Bel-etage", f"{r.randint(1, 9)} hoog", f"App. {r.randint(1, 60)}"]
        where.append(Part("unit", r.choice(units)))
    if r.random() < 0.06:
        where = [Part("box", f"Postbus {r.randint(1, 90000)}")]
    letters = r.choice("ABCDEGHJKLNPRSTVWXZ") + r.choice("ABCDEGHJKLNPRSTVWXZ")
    code = f"{r.randint(1, 9)}{_digits(r, 3)}{r.choice([' ', ' ', ''])}{letters}"
    city = [Part("postcode", code), Part("city", _town(r, "nl", "NL"))]
    return [*_head(r, "nl", "Dhr. Mevr. Fam. Dr."), where, city, *_tail(r, "NL", 0.25)]


FORMATS: dict[str, Format] = {
    "US": united_states,
    "GB": united_kingdom,
    "DE": germany,
    "FR": france,
    "BR": brazil,
    "IT": italy,
    "NL": netherlands,
}
