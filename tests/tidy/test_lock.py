"""requirements.lock holds hashes and nothing of the machine that made it, and covers pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# All that may stand in the lock. There is no form for a URL, an index option or a path.
_HEADER = re.compile(r"# Every package that \./run installs, .*")
_PINNED = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9a-z.+!]+)( ; [A-Za-z0-9_.'<>=! ()]+)? \\")
_HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
_ORIGIN = re.compile(r"    #( via|  )( [a-z0-9-]+( \(pyproject\.toml(:[a-z]+)?\))?)?")


@pytest.fixture
def lines(root: Path) -> list[str]:
    return (root / "requirements.lock").read_text(encoding="utf-8").splitlines()


def test_every_line_is_a_pin_or_a_hash_or_an_origin(lines: list[str]) -> None:
    forms = (_PINNED, _HASH, _ORIGIN)
    assert _HEADER.fullmatch(lines[0])
    assert [line for line in lines[1:] if not any(form.fullmatch(line) for form in forms)] == []


def test_every_requirement_has_a_hash(lines: list[str]) -> None:
    pairs = zip(lines, [*lines[1:], ""], strict=True)
    assert [line for line, after in pairs if _PINNED.fullmatch(line) and not _HASH.fullmatch(after)] == []


def test_declared_requirements_are_locked(root: Path, lines: list[str]) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    declared = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    declared += [text for extra in project["project"].get("optional-dependencies", {}).values() for text in extra]
    pins = [match for match in map(_PINNED.fullmatch, lines) if match]
    locked = {pin["name"]: pin["version"] for pin in pins}
    for requirement in map(Requirement, declared):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not locked: ./run lock"
        assert version in requirement.specifier, f"{requirement} is locked at {version}: ./run lock"
