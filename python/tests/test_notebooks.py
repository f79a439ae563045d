# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The example notebooks, executed from the first cell to the last."""

from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def test_there_are_three():
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_notebook(path, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    book = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(path.parent)}})
    client.execute()
    cells = [c for c in book.cells if c.cell_type == "code"]
    assert cells and all(c.execution_count for c in cells)
    # Something is shown, and nothing went wrong.
    assert any(c.outputs for c in cells)
    assert not [o for c in cells for o in c.outputs if o.output_type == "error"]
