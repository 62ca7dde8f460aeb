"""Proofs are of records where people may have several, and say of how many people these are."""

import pandas as pd
import pytest

from outrisk.api.proving import Asked, prove_study
from outrisk.cli.commands import run

RECORDS = pd.DataFrame(
    {"who": [1, 1, 1, 2, 3, 4, 5, 6], "area": list("aaabbbbb"), "ill": ["yes"] * 3 + ["no", "yes", "no", "yes", "no"]}
)


@pytest.mark.parametrize(("person", "said"), [(", person: who", "3 of 8 records (37.5 %), which are those of 1 person"),
                                              ("", "3 of 8 people (37.5 %)")])  # fmt: skip
def test_three_records_of_one_person_are_one_person(tmp_path, capsys, person, said):
    RECORDS.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "c.yaml").write_text(
        "variables:\n  area: {kind: categorical, levels: [a, b]}\n  ill: {kind: categorical, levels: ['no', 'yes']}\n"
    )
    study = tmp_path / "s.yaml"
    study.write_text(
        f"name: s\ndata: {{path: d.csv{person}}}\ncodebook: c.yaml\nkeys: [area]\ntarget: ill\n"
        "outputs: [{kind: frequencies, by: [area, ill]}]\n"
    )
    proof = prove_study(study, Asked(None, None, None, 1))
    assert f"prove ill of {said}" in proof.sentence
    assert run(["prove", str(study)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"3 {'records' if person else 'people'}: table area x ill" in out
    assert ("people" in out.partition("Proved by")[2].partition("Without")[0]) == (not person)
