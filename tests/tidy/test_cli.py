"""The `odradek` command: what every noun relies on."""

import argparse
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from odradek import __version__
from odradek.cli import main as cli

Handler = Callable[[argparse.Namespace], int]

# Standard output is a pipe whose read end is closed: the first flush raises BrokenPipeError.
_PRINT_WITHOUT_A_READER = """
import os, sys, types
from odradek.cli import main as cli

def add_arguments(parser):
    parser.set_defaults(handler=lambda _: print("to nobody") or 0)

cli.NOUNS["thing"] = "a noun for this test"
sys.modules["odradek.cli.thing"] = types.SimpleNamespace(add_arguments=add_arguments)
reader, writer = os.pipe()
os.close(reader)
os.dup2(writer, sys.stdout.fileno())
sys.exit(cli.main(["thing"]))
"""


@pytest.fixture
def noun(monkeypatch: pytest.MonkeyPatch) -> Callable[[Handler], None]:
    """Adds a noun `thing` with a verb `do` that the given handler performs."""

    def install(handler: Handler) -> None:
        def add_arguments(parser: argparse.ArgumentParser) -> None:
            verbs = parser.add_subparsers(required=True)
            verbs.add_parser("do").set_defaults(handler=handler)

        module = ModuleType("odradek.cli.thing")
        vars(module)["add_arguments"] = add_arguments
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli.NOUNS, "thing", "a noun for this test")

    return install


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def test_help_lists_every_noun() -> None:
    result = _python("-m", "odradek", "--help")
    assert result.returncode == 0
    for noun, text in cli.NOUNS.items():
        assert noun in result.stdout
        assert text in result.stdout


def test_help_imports_no_noun() -> None:
    code = "import sys; from odradek.cli.main import main\ntry: main(['--help'])\nfinally: print(*sys.modules)"
    result = _python("-c", code)
    loaded = result.stdout.split()
    assert "odradek.cli.main" in loaded
    assert {f"odradek.cli.{noun}" for noun in cli.NOUNS}.isdisjoint(loaded)
    assert {"asyncio", "odradek.storage", "uvloop"}.isdisjoint(loaded)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"odradek {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["no-such-noun"], ["--no-such-option"]])
def test_usage_errors_are_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage: odradek" in capsys.readouterr().err


def test_status_of_the_handler_is_the_status_of_the_command(noun: Callable[[Handler], None]) -> None:
    noun(lambda _: 3)
    assert cli.main(["thing", "do"]) == 3


def test_interrupt_is_status_130(noun: Callable[[Handler], None]) -> None:
    def handler(_: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    noun(handler)
    assert cli.main(["thing", "do"]) == 130


def test_missing_file_is_one_line(noun: Callable[[Handler], None], capsys: pytest.CaptureFixture[str]) -> None:
    def handler(_: argparse.Namespace) -> int:
        with open("no/such/file"):
            return 0

    noun(handler)
    assert cli.main(["thing", "do"]) == 1
    assert capsys.readouterr().err == "odradek: no/such/file: No such file or directory\n"


def test_reader_that_left_is_no_noise() -> None:
    result = _python("-c", _PRINT_WITHOUT_A_READER)
    assert (result.returncode, result.stderr) == (1, "")
