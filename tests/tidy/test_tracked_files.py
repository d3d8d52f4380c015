"""What is in the repository speaks of no particular machine, and its parts agree with each other."""

import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import odradek

_HOME = re.compile(rb"/(?:home|root|Users)/[\w.]")
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)[^)]*\)")
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def tracked(root: Path) -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True).stdout
    paths = [root / name for name in listing.split("\0") if name]
    return [path for path in paths if path.is_file()]  # not those deleted and not yet committed


def test_no_file_names_a_home_directory(tracked: list[Path]) -> None:
    assert [path for path in tracked if _HOME.search(path.read_bytes())] == []


def test_links_between_documents_lead_somewhere(tracked: list[Path]) -> None:
    broken = []
    for page in (path for path in tracked if path.suffix == ".md"):
        text = _FENCED.sub("", page.read_text(encoding="utf-8"))
        broken += [(page.name, link) for link in _LINK.findall(text) if not (page.parent / link).exists()]
    assert broken == []


def test_changelog_knows_the_version(root: Path) -> None:
    assert f"\n## {odradek.__version__}" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_installed_version_is_the_one_in_the_source() -> None:
    assert metadata.version("odradek") == odradek.__version__
