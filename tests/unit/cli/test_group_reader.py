"""What librdkafka is told for `odradek consume --group`."""

import argparse
from pathlib import Path

from odradek.cli import consume
from odradek.cli.group_reader import settings


def told(*arguments: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    consume.add_arguments(parser)
    return settings(parser.parse_args(["orders", "--group", "shop", "--bootstrap", "127.0.0.1:1", *arguments]))


def test_only_what_was_printed_is_committed() -> None:
    given = told()
    assert (given["group.id"], given["group.protocol"], given["auto.offset.reset"]) == ("shop", "classic", "latest")
    assert (given["enable.auto.commit"], given["enable.auto.offset.store"]) == (True, False)
    assert told("--from-beginning")["auto.offset.reset"] == "earliest"
    assert told("--protocol", "consumer")["group.protocol"] == "consumer"


def test_the_call_wins_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    lines = ["group.id=other", "group.protocol=consumer", "auto.offset.reset=error", "enable.auto.commit=false"]
    file.write_text("\n".join([*lines, "session.timeout.ms=7000"]))
    options = ["--command-config", str(file)]
    given = told(*options)
    assert (given["group.id"], given["group.protocol"], given["auto.offset.reset"]) == ("shop", "consumer", "error")
    assert (given["enable.auto.commit"], given["session.timeout.ms"]) == (True, "7000")
    assert told(*options, "--protocol", "classic")["group.protocol"] == "classic"
    assert told(*options, "--from-beginning")["auto.offset.reset"] == "earliest"
