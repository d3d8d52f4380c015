"""Calls that cannot work: one line, status 2, and no broker is asked."""

import re
from pathlib import Path

import pytest

from odradek.cli.main import NOUNS, main


@pytest.fixture(autouse=True)
def _nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "127.0.0.1:1")


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics"],
        ["topics", "create"],
        ["topics", "create", "orders", "--config", "novalue"],
        ["topics", "list", "--timeout", "0"],
        ["topics", "list", "--timeout", "soon"],
        ["configs", "describe", "orders"],
        ["configs", "describe", "topics/"],
        ["configs", "describe", "brokers/one"],
        ["configs", "set", "topics/orders", "retention.ms"],
        ["topics", "describe", "--unavailable", "--under-replicated"],
        ["quotas", "set", "--user", "alice"],
        ["quotas", "set", "--user", "alice", "producer_byte_rate=fast"],
        ["quotas", "set", "--user", "alice", "--user-default", "producer_byte_rate=5"],
        ["records", "count"],
        ["records", "count", "orders:x"],
        ["records", "offsets-at", "noon", "orders"],
        ["records", "delete", "orders"],
        ["records", "delete", "orders", "--before-offset", "-1"],
        ["records", "delete", "orders", "--all", "--before-offset", "3"],
        ["log", "sizes", "--top", "0"],
        ["log", "sizes", "--by", "size"],
        ["consume", "orders", "--max", "0"],
        ["consume", "orders", "--from-time", "noon"],
        ["consume", "orders", "--from-beginning", "--offset", "3"],
        ["consume", "orders", "--key", "--json"],
        ["produce", "orders", "--key", "a", "--key-separator", ":"],
        ["produce", "orders", "--acks", "2"],
    ],
)
def test_what_argparse_refuses(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: odradek" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["topics", "list", "--bootstrap", "here"], "--bootstrap: 'here' must be host:port"),
        (["topics", "alter", "orders"], "nothing to alter: give --partitions or --config"),
        (["quotas", "set", "producer_byte_rate=5"], "for whom? give --user, --client-id or --ip, "),
        (["quotas", "set", "--user", "a", "--user", "b", "producer_byte_rate=5"], "--user can be given only once"),
        (["quotas", "describe", "--client-id", ""], "--client-id needs a name"),
        (["quotas", "describe", "--ip", "10.0.0.1", "--user-default"], "--ip goes with no other"),
        (["quotas", "unset", "--user", "a"], "give either names of quotas or --all"),
        (["quotas", "unset", "--user", "a", "--all", "producer_byte_rate"], "give either names of quotas or --all"),
        (["consume", "orders", "--base64"], "--base64 is for --json"),
        (["consume", "orders", "--format", "{x}"], "--format: there is no field 'x'; there are topic, "),
        (["consume", "orders", "--protocol", "consumer"], "--protocol is for --group"),
        (["consume", "orders", "--group", ""], "--group needs a name"),
        (["consume", "orders", "--group", "g", "--offset", "3"], "a group has its own partitions and offsets: "),
        (["consume", "orders", "--group", "g", "--partition", "3"], "a group has its own partitions and offsets: "),
        (["produce", "orders", "file", "--value", "v"], "give either --value or files"),
        (["produce", "orders", "--json", "--key-separator", ":"], "--key-separator is for lines of text"),
    ],
)
def test_what_the_command_refuses(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"odradek: {complaint}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "list"],
        ["topics", "describe", "orders"],
        ["configs", "describe", "brokers/1"],
        ["quotas", "describe"],
        ["records", "count", "orders"],
        ["log", "sizes"],
        ["consume", "orders"],
        ["produce", "orders", "--value", "v"],
    ],
)
def test_no_broker_is_one_line_and_status_1(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert capsys.readouterr().err == "odradek: cannot reach 127.0.0.1:1: connection refused\n"


def test_a_properties_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    options = ["--command-config", str(file)]
    file.write_text("bootstrap.servers=127.0.0.1:2\n")
    assert main(["topics", "list", *options]) == 1
    assert "cannot reach 127.0.0.1:2:" in capsys.readouterr().err
    assert main(["topics", "list", *options, "--bootstrap", "127.0.0.1:3"]) == 1
    assert "cannot reach 127.0.0.1:3:" in capsys.readouterr().err
    file.write_text("security.protocol=SASL_SSL\n")
    assert main(["topics", "list", *options]) == 2
    assert "security.protocol=SASL_SSL is not spoken here yet" in capsys.readouterr().err
    file.write_text("a=\\u12\n")
    assert main(["topics", "list", *options]) == 2
    assert f"{file}: line 1: " in capsys.readouterr().err
    assert main(["topics", "list", "--command-config", str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("noun", sorted(NOUNS))
def test_help_of_every_noun_and_verb(noun: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([noun, "--help"])
    assert stopped.value.code == 0
    listed = re.search(r"^  VERB\n((?:    .*\n)+)", capsys.readouterr().out, re.MULTILINE)
    for verb in re.findall(r"^    ([a-z-]+)", listed[1], re.MULTILINE) if listed else []:
        with pytest.raises(SystemExit) as stopped:
            main([noun, verb, "--help"])
        assert stopped.value.code == 0
        assert f"usage: odradek {noun} {verb}" in capsys.readouterr().out
