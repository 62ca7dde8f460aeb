"""Tables of Word documents: which is meant, what their cells say, and what is refused or passed over."""

import random
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from fair import codebook, data, frame, study
from word_files import W, cell, paragraph, run, table, write

from outrisk.errors import DataError, OutputError
from outrisk.readers.remarks import kept
from outrisk.readers.source import one_table, read_source_of_values
from outrisk.readers.values import files_of, source_of

COUNTS = {"kind": "frequencies", "by": ["occ", "affair"]}


def people():
    counts = pd.crosstab(frame()["occ"], frame()["affair"])
    return [["occ", "0", "1"], *([name, *(f"{count:,}" for count in row)] for name, row in counts.iterrows())]


def grid(path, which=""):
    return one_table(read_source_of_values(path), which, "here").grid


def said(path, which=""):
    with pytest.raises(DataError) as error:
        grid(path, which)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture
def two(tmp_path):
    other = table(["occ", "0", "1"], *([row[0], "1", "2"] for row in people()[1:]))
    return write(
        tmp_path / "a.docx", "Text.", "Table 1. Others", other, "Note: all.", "Table 2: People", table(*people())
    )


@pytest.mark.parametrize("which", ["2", "Table 2", "table 2: people", "Table  2:"])
def test_a_table_is_named_by_number_or_caption(two, which):
    (released,) = study({**COUNTS, "values": f"{two}#{which}"}).given(codebook()).values()
    assert released.recompute(data()).matched.all() and len(released.labels) == 12
    assert files_of(f"{two}#{which}", two.parent) == [two]


def test_several_tables_are_listed(two):
    assert said(two).endswith("a.docx#1': 1 'Table 1. Others', 2 'Table 2: People'") and "has 2 tables" in said(two)
    assert "has no table 3; its tables are 1 'Table 1. Others'" in said(two, "3")
    assert "has no table 'Table 3'" in said(two, "Table 3")
    assert "2 tables of which 'Table' may be the caption" in said(two, "Table")
    with pytest.raises(OutputError, match="no table and model"):
        source_of(f"{two}#1#2#3", two.parent, "here")


def test_a_number_is_not_the_beginning_of_another(tmp_path):
    path = write(
        tmp_path / "a.docx",
        "Table 21. A",
        table(["a", "b"]),
        "Table 2.1 B",
        table(["c", "d"]),
        "Table 2. C",
        table(["e", "f"]),
    )
    assert grid(path, "Table 2") == [["e", "f"]] and grid(path, "Table 2.1") == [["c", "d"]]


@pytest.mark.parametrize(
    ("blocks", "captions"),
    [
        (["Table 1", "People by work", "T", "Table 2", "Others", "T"], ["Table 1 People by work", "Table 2 Others"]),
        (["T", "Table 1. A", "T", "Table 2. B"], ["Table 1. A", "Table 2. B"]),  # below
        (["Table 1. A", "T", "Table 2. B", "T", "Table 3. C"], ["", ""]),  # above or below is not told
        (["Table 1. A", "T", "Figure 1. B", "T"], ["Table 1. A", ""]),
        ([paragraph("The people", "Beschriftung"), "T", "T"], ["The people", ""]),
        (["T", "T"], ["", ""]),
        (["Table 2. A", "T", "Table 2 shows that people differ.", "T"], ["Table 2. A", ""]),
        (["Table 1. A", "T", "Table 2. B, a picture", "More is said of people here.", "T"], ["Table 1. A", ""]),
        (["Table S1", "People", "(n = 5)", "T"], ["Table S1 People (n = 5)"]),
    ],
)
def test_which_caption_is_of_which_table(tmp_path, blocks, captions):
    path = write(tmp_path / "a.docx", *(table(["a", "b"]) if each == "T" else each for each in blocks))
    found = [each.caption for each in read_source_of_values(path).printed]
    assert not any("2 shows" in each or "picture" in each for each in found[1:])
    assert [a if b else "" for a, b in zip(found, captions, strict=True)] == captions


def test_a_title_in_the_first_row_is_the_caption(tmp_path):
    path = write(tmp_path / "a.docx", table([cell("Table 3. Inside", 3)], ["a", "b", "c"], ["x", "1", "2"]))
    assert grid(path, "Table 3") == [["a", "b", "c"], ["x", "1", "2"]]


def test_merged_cells_keep_their_columns(tmp_path):
    path = write(
        tmp_path / "a.docx",
        table(
            [cell("place", down="restart"), cell("sex", down="restart"), cell("work", 2)],
            [cell(down="continue"), cell(down="continue"), "no", "yes"],
            [cell("north", down="restart"), "f", "1", "2"],
            [cell(down="continue"), "m", "3", "4"],
            [cell("south", 2), "5", "6"],
        ),
    )
    assert grid(path) == [
        ["place", "sex", "work", ""],
        ["place", "sex", "no", "yes"],
        ["north", "f", "1", "2"],
        ["north", "m", "3", "4"],
        ["south", "", "5", "6"],
    ]


def test_a_number_of_several_rows_or_columns_is_of_none_of_them(tmp_path):
    path = write(
        tmp_path / "a.docx",
        table(
            ["", "n", "m", "p"],
            ["a", cell("12", down="restart"), "1", cell("0.03", down="restart")],
            ["b", cell(down="continue"), "2", cell(down="continue")],
            ["c", cell("7", 2), ""],
        ),
    )
    rows = grid(path)
    assert rows[1] == ["a", "12 (one cell over 2 rows)", "1", "0.03"] and rows[2][3] == ""
    assert rows[3][1] == "7 (one cell over 2 columns)"
    merged = people()
    merged[1] = [merged[1][0], cell("431", 2)]
    path = write(tmp_path / "b.docx", table(*merged[:1], *merged[2:], merged[1]))
    with pytest.raises(OutputError, match=r"one cell over 2 columns.*is not a number"):
        study({**COUNTS, "values": str(path)}).given(codebook())


def test_deleted_text_is_none_and_inserted_text_is(tmp_path):
    changed = (
        "<w:p><w:del><w:r><w:delText>9</w:delText></w:r></w:del><w:r><w:t>43</w:t></w:r><w:ins>"
        + run("1")
        + "</w:ins></w:p>"
    )
    gone = '<w:tr><w:trPr><w:del w:id="1"/></w:trPr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr>'
    moved = "<w:p><w:moveFrom>" + run("88") + "</w:moveFrom><w:moveTo>" + run("77") + "</w:moveTo></w:p>"
    path = write(tmp_path / "a.docx", table(["a", cell(changed)], gone, ["b", cell(moved)]))
    assert grid(path) == [["a", "431"], ["b", "77"]]
    assert set(read_source_of_values(path).printed[0].passed) == {
        "1 deleted or hidden rows", "2 deletions", "2 insertions (read)",
    }  # fmt: skip


def test_a_deleted_end_of_a_paragraph_joins_its_lines(tmp_path):
    first = f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{run('1')}</w:p>{paragraph('2')}"
    assert grid(write(tmp_path / "a.docx", table(["a", cell(first)]))) == [["a", "12"]]
    apart = f"{paragraph('1')}{paragraph('200')}"
    assert grid(write(tmp_path / "a.docx", table(["a", cell(apart)]))) == [["a", "1 \u21b5 200"]]


def test_a_row_of_several_lines_is_several_rows_where_all_are_numbers(tmp_path):
    path = write(tmp_path / "a.docx", table(["a\nb", "1\n2", "3\n4"], ["Age\n(years)", "45.1\n(12.0)", "44.0\n(11.0)"]))
    assert grid(path) == [["a", "1", "3"], ["b", "2", "4"], ["Age (years)", "45.1 (12.0)", "44.0 (11.0)"]]


def test_tracked_changes_of_cells_are_refused(tmp_path):
    made = cell("1").replace("<w:tcPr>", "<w:tcPr><w:cellDel/>")
    path = write(tmp_path / "a.docx", "Table 1", table(["a", made]))
    assert "has tracked changes of whole cells; accept or reject them" in said(path)


FIELD, RESULT, END = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
MC, M = 'xmlns:mc="mc"', 'xmlns:m="m"'


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (run("12") + run("7", "<w:vanish/>"), "12"),
        (run("12") + run("7", '<w:rStyle w:val="Unseen"/>'), "12"),
        (run("12") + run("7", '<w:vanish w:val="0"/>'), "127"),
        (run("12") + run("a", '<w:vertAlign w:val="superscript"/>'), "12"),
        (run("12") + run("1", '<w:vertAlign w:val="superscript"/>'), "12"),
        (run("12") + run("1", '<w:rStyle w:val="Mark"/>'), "12"),
        (run("0.1") + run("***", '<w:vertAlign w:val="superscript"/>'), "0.1***"),
        (run("10") + run("3", '<w:vertAlign w:val="superscript"/>'), "10³"),
        (run("R") + run("2", '<w:vertAlign w:val="superscript"/>'), "R²"),
        (run("12", "<w:strike/>") + run("13"), "(struck out: 12)13"),
        ("<w:r><w:noBreakHyphen/><w:t>1</w:t></w:r>", "-1"),
        ('<w:r><w:sym w:font="Symbol" w:char="F02D"/><w:t>1</w:t></w:r>', "-1"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F02D"/><w:t>1</w:t></w:r>', "\ufffd1"),
        ("<w:r><w:instrText>=SUM(ABOVE)</w:instrText></w:r>" + run("5"), "5"),
        ("<w:sdt><w:sdtContent>" + run("5") + "</w:sdtContent></w:sdt>", "5"),
        ("<w:hyperlink>" + run("5") + "</w:hyperlink>", "5"),
        ("<w:r><w:footnoteReference w:id='1'/></w:r>" + run("5"), "5"),
        (run("1") + "<w:r><w:softHyphen/></w:r>" + run("2"), "12"),
        ("<w:r><w:rPr><w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange></w:rPr><w:t>5</w:t></w:r>", "5"),
        (run("12") + run("1", '<w:position w:val="6"/>'), "12"),
        (run("1") + run(".5", '<w:vertAlign w:val="superscript"/>'), "1^.5"),
        (run("10") + run("a", '<w:vertAlign w:val="superscript"/>'), "10"),
        (run("12", '<w:rStyle w:val="Struck"/>') + run("13"), "(struck out: 12)13"),
        (f"{FIELD}{FIELD}{RESULT}{run('99')}{END}{RESULT}{run('5')}{END}", "5"),  # a field in another's instruction
        (f"<w:r><mc:AlternateContent {MC}><mc:Choice><w:t>5</w:t></mc:Choice></mc:AlternateContent></w:r>", "\ufffd"),
        (f"<m:oMath {M}><m:r><w:del/><m:t>5</m:t></m:r></m:oMath>", "\ufffd"),
    ],
)
def test_what_a_cell_says(tmp_path, runs, text):
    assert grid(write(tmp_path / "a.docx", table(["a", cell(f"<w:p>{runs}</w:p>")])))[0][1] == text


def test_what_is_beside_the_text_is_told(tmp_path):
    box = f"<w:p><w:r><w:pict><w:txbxContent>{table(['x', '1'])}</w:txbxContent></w:pict></w:r></w:p>"
    inner = cell(f"<w:tbl><w:tr>{cell('7')}{cell('8')}</w:tr></w:tbl><w:p/>")
    path = write(tmp_path / "a.docx", box, "Table 1", table(["a", inner]), parts=[("word/header1.xml", "<x>9</x>")])
    source = read_source_of_values(path)
    assert source.passed == ("1 text boxes",)
    assert [each.grid for each in source.printed] == [[["a", ""]], [["7", "8"]]]


def test_rows_that_begin_and_end_elsewhere(tmp_path):
    row = f'<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>{cell("1")}</w:tr>'
    held = f"<w:sdt><w:sdtContent>{cell('2')}</w:sdtContent></w:sdt>"
    inside = f"<w:sdt><w:sdtContent><w:tr>{cell('b')}{held}</w:tr></w:sdtContent></w:sdt>"
    assert grid(write(tmp_path / "a.docx", table(["a", "0"], row, inside))) == [["a", "0"], ["", "1"], ["b", "2"]]


BOMB = '<!DOCTYPE d [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>'


def test_files_that_are_no_plain_document_are_refused_in_a_line(tmp_path):
    assert "has a document type" in said(write(tmp_path / "a.docx", "x", prolog=BOMB))
    deep = write(tmp_path / "b.docx", "<w:x>" * 900 + "</w:x>" * 900)
    assert "elements within each other" in said(deep)
    many = write(tmp_path / "m.docx", "<w:p/>" * 1_100_000)
    assert "more than 1,000,000 elements" in said(many)
    assert grid(write(tmp_path / "n.docx", f"<w:tbl><w:tr>{cell('1') * 40_000}</w:tr></w:tbl>"))[0][-1] == "1"
    (tmp_path / "c.docx").write_bytes(b"\xd0\xcf\x11\xe0" + b"0" * 600)
    assert "with a password" in said(tmp_path / "c.docx")
    (tmp_path / "d.docx").write_text("no zip")
    assert "cannot be read as docx" in said(tmp_path / "d.docx")
    with zipfile.ZipFile(tmp_path / "e.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 61_000_000)
    assert "is more than 60,000,000 bytes" in said(tmp_path / "e.docx")
    wide = table(*[[cell("1", 1000)] for _ in range(2001)])
    assert "too large" in said(write(tmp_path / "f.docx", wide))
    with zipfile.ZipFile(tmp_path / "g.docx", "w") as archive:
        archive.writestr("other.xml", "<x/>")
    assert "no Word document in it" in said(tmp_path / "g.docx")
    assert "has no table in it" in said(write(tmp_path / "h.docx", "Text alone"))
    for name in ("a.doc", "a.odt", "a.pdf"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(DataError, match="save the document as docx"):
            read_source_of_values(tmp_path / name)
    assert W


@pytest.mark.parametrize("text", ["<8", "< 8", "*", "c", "–", ""])
def test_cells_that_are_withheld_stay_so(tmp_path, text):
    rows = people()
    rows[3][2] = text
    path = write(tmp_path / "a.docx", table(*rows))
    (released,) = study({**COUNTS, "values": str(path)}).given(codebook()).values()
    assert (released.low != released.high).sum() == 1 and released.recompute(data()).matched.all()


@pytest.mark.parametrize("seed", range(25))
def test_random_tables_come_back(tmp_path, seed):
    """Labels merged at random, numbers in runs with deleted, hidden and raised parts: each stands where it was put."""
    rng = random.Random(seed)
    width, height = rng.randint(2, 5), rng.randint(2, 7)
    want = [["", *(f"c{at}" for at in range(width))]]
    rows = [want[0]]
    merged = False
    for number in range(height):
        texts = [str(rng.randint(0, 9999)) for _ in range(width)]
        merged = merged and rng.random() < 0.5
        label = want[-1][0] if merged else f"r{number}"
        want.append([label, *texts])
        rows.append([cell(label, down="continue" if merged else "restart"), *(noisy(rng, text) for text in texts)])
        merged = True
    assert grid(write(tmp_path / "a.docx", "Table 1", table(*rows))) == want


def noisy(rng, text):
    """A cell of a number with what is not to be read about it."""
    at = rng.randint(0, len(text))
    extra = rng.choice(
        [
            "",
            "<w:del><w:r><w:delText>8</w:delText></w:r></w:del>",
            run("8", "<w:vanish/>"),
            "<w:proofErr/>",
            "<w:r><w:tab/></w:r>" * 0,
        ]
    )
    tail = rng.choice(["", run("a", '<w:vertAlign w:val="superscript"/>'), "<w:bookmarkEnd/>"])
    tail = "" if text == "10" else tail
    parts = (run(part) if part else "" for part in (text[:at], text[at:]))
    first, second = parts
    return cell(f"<w:p>{first}{extra}{second}{tail}</w:p>")


@pytest.mark.parametrize("seed", range(12))
def test_a_changed_number_shows(tmp_path, seed):
    """Whatever digit is changed of a table in Word, the number of that cell alone is another."""
    rng = random.Random(seed)
    rows = people()
    at, side = rng.randint(1, len(rows) - 1), rng.randint(1, 2)
    rows[at][side] = f"{int(rows[at][side].replace(',', '')) + rng.choice([1, 7, 100]):,}"
    path = write(tmp_path / "a.docx", table(*rows))
    (released,) = study({**COUNTS, "values": str(path)}).given(codebook()).values()
    beside = released.recompute(data())
    wrong = [label for label, matched in zip(released.labels, beside.matched, strict=True) if not matched]
    assert len(wrong) == 1 and rows[at][0] in wrong[0] and f"affair={rows[0][side]}" in wrong[0].replace(" ", "")


def test_python_docx_agrees(tmp_path):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_paragraph("Table 1. People", style="Caption")
    made = document.add_table(rows=0, cols=3)
    for row in people():
        for place, text in zip(made.add_row().cells, row, strict=True):
            place.text = text
    document.save(tmp_path / "a.docx")
    found = read_source_of_values(Path(tmp_path / "a.docx")).printed
    assert [each.caption for each in found] == ["Table 1. People"] and found[0].grid == people()


def test_a_table_one_in_word(tmp_path):
    """Means, counts and percentages by group, an indent for levels, N in the head, a note below."""
    groups = frame().groupby("affair")
    n = groups.size()
    ages, sds = groups["age"].mean(), groups["age"].std()
    rows = [["", *(f"affair = {group}\n(n = {n[group]:,})" for group in (0, 1))]]
    rows += [["age, mean (SD)", *(f"{ages[group]:.1f} ({sds[group]:.1f})" for group in (0, 1))]]
    counts = pd.crosstab(frame()["religion"], frame()["affair"])
    rows += [["religion, n (%)", "", ""]]
    rows += [
        [
            f"\N{NO-BREAK SPACE} {level}",
            *(f"{counts.loc[level, group]:,} ({100 * counts.loc[level, group] / n[group]:.1f})" for group in (0, 1)),
        ]
        for level in counts.index
    ]
    path = write(
        tmp_path / "a.docx",
        "Table 1. Characteristics",
        table(*rows),
        "Note: SD, standard deviation.",
        "Table 2",
        table(["a", "b"]),
    )
    found = study({"kind": "table_one", "by": "affair", "values": f"{path}#Table 1"}).given(codebook())
    assert len(found) >= 3 and all(released.recompute(data()).matched.all() for released in found.values())


def test_a_document_is_no_file_of_records(tmp_path):
    from outrisk.tabular import read_source

    path = write(tmp_path / "a.docx", table(people()[0]))
    with pytest.raises(DataError, match="read for released numbers"):
        read_source(path)


def test_counts_that_may_be_percentages_have_a_line(tmp_path):
    counts = pd.crosstab(frame()["occ"], frame()["affair"])
    shares = counts.div(counts.sum(axis=1), axis=0).mul(100).round().astype(int)
    rows = [["occ", "0", "1"], *([name, *map(str, row)] for name, row in shares.iterrows())]
    with kept() as told:
        study({**COUNTS, "values": str(write(tmp_path / "a.docx", table(*rows)))}).given(codebook())
    assert any("if they are percentages, say show" in line for line in told)
