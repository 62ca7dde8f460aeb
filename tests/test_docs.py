"""The notebook runs, and the API page is that of the code."""

import ast
import importlib.util
import json
from pathlib import Path

import outrisk

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_notebook_runs_and_holds_no_results(tmp_path, monkeypatch):
    """Its cells one after the other, the last expression of each shown as Jupyter would show it."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    names, shown = {"__name__": "__main__"}, []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    assert names["result"].sentence in names["result"]._repr_html_()
    assert len(shown) >= 7 and all(shown)
    assert not list(tmp_path.iterdir())


def test_the_api_page_is_that_of_the_code():
    spec = importlib.util.spec_from_file_location("make_api", DOCS / "make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run: make api"
    for name in outrisk.__all__:
        if callable(getattr(outrisk, name)) and name not in ("Codebook", "OutRiskError"):
            assert name in module.page()
