"""The locks hold hashes and nothing of the machine that made them, and cover pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# All that may stand in the lock. There is no form for a URL, an index option or a path.
_HEADER = re.compile(r"# (Every package that \./run installs for what needs .*|Made by \./run lock .*)")
_PINNED = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9a-z.+!]+)( ; [A-Za-z0-9_.'<>=! ()]+)? \\")
_HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
_ORIGIN = re.compile(r"    #( via|  )( [a-z0-9-]+( \(pyproject\.toml(:[a-z]+)?\))?)?")


SMALL, WITH_SPARK = "requirements.lock", "requirements-spark.lock"


@pytest.fixture(params=[SMALL, WITH_SPARK])
def lines(root: Path, request: pytest.FixtureRequest) -> list[str]:
    return lines_of(root, request.param)


def lines_of(root: Path, lock: str) -> list[str]:
    return (root / lock).read_text(encoding="utf-8").splitlines()


def pins_of(lines: list[str]) -> dict[str, str]:
    return {match["name"]: match["version"] for match in map(_PINNED.fullmatch, lines) if match}


def test_every_line_is_a_pin_or_a_hash_or_an_origin(lines: list[str]) -> None:
    forms = (_PINNED, _HASH, _ORIGIN)
    assert all(_HEADER.fullmatch(line) for line in lines[:2])
    assert [line for line in lines[2:] if not any(form.fullmatch(line) for form in forms)] == []


def test_every_requirement_has_a_hash(lines: list[str]) -> None:
    pairs = zip(lines, [*lines[1:], ""], strict=True)
    assert [line for line, after in pairs if _PINNED.fullmatch(line) and not _HASH.fullmatch(after)] == []


def test_declared_requirements_are_locked(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    declared = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    extras = [text for extra in project["project"]["optional-dependencies"].values() for text in extra]
    check_locked(declared, pins_of(lines_of(root, SMALL)))
    check_locked([*declared, *extras], pins_of(lines_of(root, WITH_SPARK)))


def check_locked(declared: list[str], pins: dict[str, str]) -> None:
    for requirement in map(Requirement, declared):
        version = pins.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not locked: ./run lock"
        assert version in requirement.specifier, f"{requirement} is locked at {version}: ./run lock"


def test_the_small_lock_is_a_part_of_the_other(root: Path) -> None:
    assert pins_of(lines_of(root, SMALL)).items() <= pins_of(lines_of(root, WITH_SPARK)).items()
