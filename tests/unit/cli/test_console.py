"""`odradek console`, as far as it goes without a broker."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.cli.main import main

_WITHOUT_PAGES = """
import sys
sys.modules["nicegui"] = None
from odradek.cli import console
from odradek.cli.main import Misused
try:
    console.load_pages()
except Misused as error:
    print(error)
"""


def test_without_a_broker_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["console", "--bootstrap", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == "odradek: cannot reach 127.0.0.1:1: connection refused\n"


@pytest.mark.parametrize("arguments", [["--port", "many"], ["--port", "65536"], ["--port", "-1"], ["topics"]])
def test_options_that_cannot_be(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["console", *arguments])
    assert stopped.value.code == 2
    assert "usage: odradek" in capsys.readouterr().err


def test_a_wrong_address_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["console", "--bootstrap", "here"]) == 2
    assert capsys.readouterr().err == "odradek: --bootstrap: 'here' must be host:port\n"


def test_a_setting_that_librdkafka_does_not_know_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "client.properties").write_text("no.such.setting=1\n")
    assert main(["console", "--command-config", str(tmp_path / "client.properties")]) == 2
    assert capsys.readouterr().err == 'odradek: no such configuration property: "no.such.setting"\n'


def test_attached_needs_a_pipe() -> None:
    command = [sys.executable, "-m", "odradek", "console", "--attached"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "odradek: --attached: standard input must be a pipe\n")


def test_without_the_pages_one_line_says_what_to_install() -> None:
    ended = subprocess.run([sys.executable, "-c", _WITHOUT_PAGES], capture_output=True, text=True, check=True)
    assert ended.stdout == "the console needs nicegui, which is not installed: pip install 'odradek[console]'\n"


def test_what_the_pages_have_no_use_for_is_not_loaded_and_not_lost() -> None:
    code = "import sys; from odradek.console.loading import load_serving as l; l(); print(*sys.modules); import kafka"
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert {"aiohttp", "kafka"}.isdisjoint(ended.stdout.split())
    assert "nicegui" in ended.stdout.split()


def test_nothing_of_the_pages_is_loaded_by_another_command() -> None:
    code = "import sys; from odradek.cli.main import main; main(['pipeline', 'list']); print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"nicegui", "fastapi", "uvicorn", "odradek.console"}.isdisjoint(ended.stdout.split())
