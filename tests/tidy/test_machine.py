"""What runs in a node has its clocks, chance, threads, files and network from `odradek.process.machine.Machine`.

Else a simulation of the node is another story each time, or is no simulation at all.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = ("broker", "controller", "coordinators", "metadata", "net", "quorum", "replication", "server", "storage")
FORBIDDEN = frozenset(
    [
        "fcntl",
        "multiprocessing",
        "pathlib",
        "random",
        "resource",
        "secrets",
        "select",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "uuid",
    ]
)
NAMES = {"random": {"Random"}, "uuid": {"UUID"}, "concurrent.futures": {"Executor"}}
"""Types, which do nothing by themselves."""
OS = {"path"}
"""Of os.path, what only looks at the text of a path, and at the working directory."""
PATH = {"abspath", "basename", "dirname", "join", "normpath", "split"}
EXCEPTIONS = {
    "broker/handlers/describe_log_dirs.py": "shutil: the room on a real disk",
    "server/config.py": "os.environ: read before there is a node",
    "server/config_providers.py": "files with secrets: read before there is a node",
    "storage/cleaning/child.py": "a process of its own",
    "storage/log_dir.py": "threading: a lock between threads that machines may have",
    "storage/scanner.py": "processes of their own",
    "storage/verify": "a tool, which runs in no node",
}


def test_a_node_has_nothing_of_the_world_but_its_machine(root: Path) -> None:
    source = root / "src" / "odradek"
    found = [
        f"{path.relative_to(source)}:{line}: {what}"
        for package in PACKAGES
        for path in sorted((source / package).rglob("*.py"))
        if not _is_excepted(str(path.relative_to(source)))
        for line, what in _reaches(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from time import monotonic",
        "import os.path, socket",
        "from random import Random, SystemRandom",
        "from concurrent.futures import ThreadPoolExecutor",
        "import os\nos.urandom(16)",
        "import os\nos.path.exists('x')",
        "from os import urandom",
        "def f():\n    open('x')",
    ],
)
def test_what_reaches_past_it_is_found(text: str) -> None:
    assert list(_reaches(text))


def test_each_exception_is_one(root: Path) -> None:
    for each in EXCEPTIONS:
        path = root / "src" / "odradek" / each
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        assert any(list(_reaches(file.read_text())) for file in files), each


def _is_excepted(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in EXCEPTIONS)


def _reaches(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import():
                yield from ((node.lineno, name) for each in node.names if (name := each.name) in FORBIDDEN)
            case ast.ImportFrom(module=str(module)):
                allowed = NAMES.get(module, set())
                if module in FORBIDDEN or module in NAMES or module == "os":
                    yield from ((node.lineno, each.name) for each in node.names if each.name not in allowed)
            case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr not in OS:
                yield node.lineno, f"os.{attr}"
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="os"), attr="path"), attr=attr):
                if attr not in PATH:
                    yield node.lineno, f"os.path.{attr}"
            case ast.Call(func=ast.Name(id="open")):
                yield node.lineno, "open"
            case _:
                pass
