"""Examples in docstrings and in the README are run."""

import doctest
import importlib
import os
import pkgutil
import re
from pathlib import Path

import mercer
import pytest

MODULES = ["mercer", *(f"mercer.{m.name}" for m in pkgutil.iter_modules(mercer.__path__) if m.name != "_mercer")]
README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert result.failed == 0


def test_public_things_are_documented_with_examples():
    for name in mercer.__all__:
        thing = getattr(mercer, name)
        if callable(thing):
            assert thing.__doc__
    for name in ("PCA", "KernelPCA", "IncrementalPCA", "Nystroem", "load", "from_sklearn", "Kernel"):
        assert "Examples\n" in getattr(mercer, name).__doc__


@pytest.mark.parametrize("name", ["PCA", "KernelPCA", "IncrementalPCA", "Nystroem"])
def test_every_parameter_and_attribute_is_documented(name, iris):
    kind = getattr(mercer, name)
    parameters, attributes = kind.__doc__.split("Attributes\n")
    for parameter in kind().get_params():
        assert re.search(rf"^    {parameter} : ", parameters, re.M), parameter
    fitted = kind(n_components=2).fit(iris)
    for attribute in vars(fitted):
        if attribute.endswith("_") and not attribute.startswith("_"):
            assert re.search(rf"^    [\w, ]*\b{attribute}\b[\w, ]* : ", attributes, re.M), attribute


def test_the_readme(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert blocks
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        scope = {}
        for block in blocks:
            exec(compile(block, "README.md", "exec"), scope)
    finally:
        os.chdir(before)


def test_the_readme_lists_every_kernel():
    section = README.read_text().split("## Kernels")[1].split("\n## ")[0]
    for entry in mercer.kernels.TABLE:
        names = f"{entry['name']} ({', '.join(entry['aliases'])})" if entry["aliases"] else entry["name"]
        assert re.search(rf"^  {re.escape(names)} .* {re.escape(entry['formula'])}", section, re.M), names


def test_the_page_of_kernels_lists_every_kernel():
    page = (README.parent / "docs" / "kernels.md").read_text()
    table = next(cell for cell in re.findall(r"```{code-cell} ipython3\n(.*?)```", page, re.S) if "Markdown(" in cell)
    code = "\n".join(line for line in table.splitlines() if not line.startswith(":"))
    shown = []
    exec(compile(code.replace("\nMarkdown(", "\nshown.append("), "kernels.md", "exec"), {"shown": shown})
    rows = shown[0].splitlines()[2:]
    assert len(rows) == len(mercer.kernels.TABLE)
    for row, entry in zip(rows, mercer.kernels.TABLE, strict=True):
        for part in (entry["name"], *entry["aliases"], entry["formula"].replace("|", "\\|")):
            assert part in row


def test_the_module_of_kernels_has_a_function_for_every_name():
    names = [name for entry in mercer.kernels.TABLE for name in (entry["name"], *entry["aliases"])]
    assert mercer.kernels.__all__ == ["TABLE", "Kernel", *names]
    for entry in mercer.kernels.TABLE:
        for name in (entry["name"], *entry["aliases"]):
            function = getattr(mercer.kernels, name)
            assert entry["formula"] in function.__doc__
            for parameter in entry["parameters"]:
                assert re.search(rf"^{parameter['name']} : ", function.__doc__, re.M)
            assert _name(function()) == entry["name"]


def _name(kernel):
    return str(kernel).split("(")[0]
