"""Notebooks of ``examples/``: executed in a kernel, and compared with the outputs that they hold.

``python tests/oracles/notebooks.py`` (``make notebooks``) executes them and writes their outputs.
"""

import re
import warnings
from pathlib import Path

FOLDER = Path(__file__).parent.parent.parent / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
VARIES = "varies"  # tag of cells whose output depends on the machine
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def executed(path, place):
    """Return the notebook executed in the folder ``place``, without times and other traces of the run."""
    with warnings.catch_warnings():  # of the libraries of Jupyter
        warnings.simplefilter("ignore")
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        client = NotebookClient(
            notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(place)}}
        )
        client.coalesce_streams = True
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def texts(notebook):
    """Return the outputs of each code cell as text, except of cells whose output varies."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and VARIES not in cell.metadata.get("tags", ()):
            parts = [
                output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs
            ]
            found.append("\n".join("".join(part) for part in parts).strip())
    return found


def words_and_numbers(text):
    """Split text into words without its numbers, and the numbers."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)  # addresses of objects
    return re.sub(r"\s+", " ", NUMBER.sub("#", text)), [
        float(n.replace(",", "")) for n in NUMBER.findall(text)
    ]


if __name__ == "__main__":
    import tempfile

    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, folder), path)
