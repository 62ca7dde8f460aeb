"""Word documents written by hand, with what a word processor may put into them."""

import zipfile
from xml.sax.saxutils import escape

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/>'
    "</Relationships>"
)
STYLES = (
    f'<w:styles {W}><w:style w:type="paragraph" w:styleId="Beschriftung"><w:name w:val="caption"/></w:style>'
    '<w:style w:type="character" w:styleId="Unseen"><w:name w:val="unseen"/><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Struck"><w:name w:val="struck"/><w:rPr><w:strike/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Mark"><w:name w:val="footnote reference"/><w:rPr><w:vertAlign '
    'w:val="superscript"/></w:rPr></w:style></w:styles>'
)


def run(text, look=""):
    """Characters of one look, such as '<w:vanish/>'; their lines apart."""
    lines = "<w:br/>".join(f'<w:t xml:space="preserve">{escape(line)}</w:t>' for line in text.split("\n"))
    return f"<w:r>{f'<w:rPr>{look}</w:rPr>' if look else ''}{lines}</w:r>"


def paragraph(content, style=""):
    """A paragraph of a text, or of runs."""
    content = content if content.startswith("<") and ">" in content else run(content)
    return f"<w:p>{f'<w:pPr><w:pStyle w:val={chr(34)}{style}{chr(34)}/></w:pPr>' if style else ''}{content}</w:p>"


def cell(content="", wide=1, down=""):
    """A cell over so many columns; `down`: 'restart' or 'continue' of one over several rows."""
    span = f'<w:gridSpan w:val="{wide}"/>' if wide > 1 else ""
    merge = {"restart": '<w:vMerge w:val="restart"/>', "continue": "<w:vMerge/>"}.get(down, "")
    inside = content if content.startswith(("<w:p>", "<w:tbl>")) else paragraph(content)
    return f"<w:tc><w:tcPr>{span}{merge}</w:tcPr>{inside}</w:tc>"


def table(*rows):
    """A table of rows of texts, or of cells."""
    made = (
        f"<w:tr>{''.join(each if each.startswith('<w:tc>') else cell(each) for each in row)}</w:tr>"
        if not isinstance(row, str)
        else row
        for row in rows
    )
    return f"<w:tbl><w:tblPr/>{''.join(made)}</w:tbl>"


def write(path, *blocks, prolog="", parts=()):
    """A document of paragraphs (texts) and tables (as `table` makes them)."""
    body = "".join(each if each.startswith(("<w:", "<mc:")) else paragraph(each) for each in blocks)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", f"{prolog}<w:document {W}><w:body>{body}</w:body></w:document>")
        archive.writestr("word/styles.xml", STYLES)
        for name, content in parts:
            archive.writestr(name, content)
    return path
