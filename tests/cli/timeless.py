"""The files of a run directory without the times in them, to be compared."""

import csv
import json
import re

TIMES = {"seconds", "started", "peak_memory_mb"}  # columns and entries
# a moment in UTC, and durations as pages write them
SHOWN = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.+]+)?|\d[\d,.]* (?:s|min|h)\b|[\d,.]+ MB")


def contents(place):
    """What every file of a run directory says, but for the log, which tells times alone."""
    paths = [path for path in sorted(place.rglob("*")) if path.is_file() and path.name != "log.jsonl"]
    return {str(path.relative_to(place)): without_times(path) for path in paths}


def without_times(path):
    """What a file says, but for times."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return [{key: value for key, value in row.items() if key not in TIMES} for row in csv.DictReader(file)]
    if path.suffix == ".json":
        return _timeless(json.loads(path.read_text()))
    return SHOWN.sub("", path.read_text()) if path.suffix in (".html", ".md") else path.read_bytes()


def _timeless(document):
    if isinstance(document, dict):
        return {key: _timeless(value) for key, value in document.items() if key not in TIMES}
    return [_timeless(item) for item in document] if isinstance(document, list) else document
