"""What the name of a column tells: an identifier, what others know of a person, what is sensitive."""

from __future__ import annotations

import re

# Beginnings of words, English and German; a word of three letters or fewer must be met as a whole.
_IDENTIFIER = (
    "id", "pid", "uid", "nhs", "chi", "ssn", "nino", "mrn", "uuid", "identifier", "pseudonym", "name",
    "surname", "firstname",
    "forename", "vorname", "nachname", "email", "mail", "phone", "telephone", "mobile", "telefon", "address", "adresse",
    "street", "strasse", "passport", "barcode", "versichertennummer", "patientennummer", "fallnummer", "ip", "url",
)  # fmt: skip
_KNOWN = {
    "age": "age", "alter": "age", "birth": "birth", "born": "birth", "dob": "birth", "yob": "birth", "geburt": "birth",
    "geb": "birth", "sex": "sex", "gender": "sex", "geschlecht": "sex", "region": "place", "area": "place",
    "county": "place", "district": "place", "state": "place", "province": "place", "bundesland": "place",
    "kreis": "place",
    "city": "place", "town": "place", "municipality": "place", "gemeinde": "place", "urban": "place", "place": "place",
    "postcode": "place", "zip": "place", "plz": "place", "country": "origin", "nation": "origin", "citizen": "origin",
    "staatsang": "origin", "ethnic": "origin", "race": "origin", "migrant": "origin", "language": "origin",
    "sprache": "origin", "marital": "family", "married": "family", "marriage": "family", "yrs_married": "family",
    "civil": "family",
    "familienstand": "family", "child": "family", "kids": "family", "kinder": "family", "household": "family",
    "haushalt": "family", "occupation": "work", "occ": "work", "job": "work", "beruf": "work", "profession": "work",
    "industry": "work", "employ": "work", "education": "education", "educ": "education", "school": "education",
    "degree": "education", "qualification": "education", "bildung": "education", "schul": "education",
    "religion": "religion", "religious": "religion", "konfession": "religion", "tenure": "home", "housing": "home",
    "height": "looks", "groesse": "looks",
}  # fmt: skip
_SENSITIVE = (
    "affair", "disease", "diagnos", "icd", "hiv", "aids", "cancer", "krebs", "tumor", "tumour", "diabet", "depress",
    "anxiety", "mental", "psych", "income", "salary", "wage", "earning", "einkommen", "gehalt", "lohn",
    "rich", "wealth",
    "poverty", "poor", "debt", "schulden", "loan", "smok", "rauch", "drug", "alcohol", "drink", "alkohol", "sexual",
    "orientation", "crim", "convict", "offence", "offense", "prison", "arrest", "benefit", "welfare", "disab",
    "behinder", "health", "illness", "ill", "sick", "krank", "pregnan", "abort", "vote", "voting", "party", "partei",
    "union", "suicid", "overdose", "obes", "bmi", "asthma", "stroke", "infect", "covid", "died", "death", "dead",
    "mortality", "violence", "abuse", "pain", "unemploy", "arbeitslos", "medication", "treatment", "therapy", "symptom",
)  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})  # as the stems above are written


def _words(name: str) -> list[str]:
    """The words of a column's name: 'dateOfBirth_2' -> date, of, birth."""
    spaced = re.sub(r"(?<=[a-zäöüß])(?=[A-Z])", " ", name)
    return [word.lower().translate(_UMLAUTS) for word in re.split(r"[^A-Za-zÀ-ÿ]+", spaced) if word]


def _met(word: str, stem: str) -> bool:
    return word == stem if len(stem) <= 3 else word.startswith(stem)


def names_identifier(name: str) -> bool:
    """Whether a name says that the column identifies people."""
    return any(_met(word, stem) for word in _words(name) for stem in _IDENTIFIER)


def names_known(name: str) -> str:
    """What others plausibly know of a person ('age', 'place', ...) by a name; empty for none."""
    return next((kind for word in _words(name) for stem, kind in _KNOWN.items() if _met(word, stem)), "")


def names_sensitive(name: str) -> bool:
    """Whether a name says that the column is something people would not tell."""
    return any(_met(word, stem) for word in _words(name) for stem in _SENSITIVE)
