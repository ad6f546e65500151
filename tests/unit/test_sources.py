"""The hash of the code that a module runs."""

import sys

import pytest

from cascadebai_cli.learners import own
from cascadebai_cli.learners.own import code_hash


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    own._file.cache_clear()


FILES = {
    "top_own.py": "import top_helper\nimport top_pack.deep.leaf\n\ndef f():\n    from top_space.inner import far\n",
    "top_helper.py": "from top_pack import sibling",
    "top_pack/__init__.py": "",
    "top_pack/sibling.py": "from . import cousin\nfrom .deep import leaf",
    "top_pack/cousin.py": "import importlib\nimportlib.import_module('top_named')",
    "top_pack/deep/__init__.py": "",
    "top_pack/deep/leaf.py": "from ..above import *",
    "top_pack/above.py": "import 学习",
    "top_space/inner/far.py": "x = 1",
    "top_named.py": "import top_own",
    "学习.py": "import broken_syntax",
    "broken_syntax.py": "1 +",
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_is_imported_directly_or_not_counts(folder, name):
    write(folder, {**FILES, "stranger.py": ""})
    before = code_hash("top_own")
    write(folder, {"stranger.py": "x = 2"})
    assert code_hash("top_own") == before
    write(folder, {name: FILES[name] + "\n# changed"})
    assert code_hash("top_own") != before


def test_paths_do_not_count(folder, tmp_path, monkeypatch):
    write(folder, FILES)
    before = code_hash("top_own")
    (tmp_path / "elsewhere").mkdir()
    for name in {name.split("/")[0] for name in FILES}:
        (folder / name).rename(tmp_path / "elsewhere" / name)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "elsewhere"), *sys.path])
    sys.path_importer_cache.clear()
    own._file.cache_clear()
    assert code_hash("top_own") == before


def test_of_a_distribution_name_and_version_count(folder, monkeypatch):
    write(folder, {"top_np.py": "import numpy.linalg, json"})
    before = code_hash("top_np")
    own._distribution.cache_clear()
    monkeypatch.setattr(own, "version", lambda name: "0.0")
    assert code_hash("top_np") != before
    own._distribution.cache_clear()


def test_an_installed_module_of_one_s_own_counts_by_its_content(folder):
    place = folder / "site-packages"
    write(place, {"installed_own.py": "import installed_other", "installed_other.py": ""})
    sys.path.insert(0, str(place))
    try:
        before = code_hash("installed_own")
        write(place, {"installed_other.py": "x = 1"})
        assert code_hash("installed_own") == before
        write(place, {"installed_own.py": "import installed_other  # changed"})
        assert code_hash("installed_own") != before
    finally:
        sys.path.remove(str(place))


def test_code_in_memory_is_what_it_was_when_it_was_hashed(folder):
    """A worker that holds a module of yesterday must not take it for that of today."""
    write(folder, FILES)
    before = code_hash("top_own")
    (folder / "top_helper.py").write_text("changed = True")
    assert code_hash("top_own") == before
