"""`odradek quotas`, `records`, `log sizes` and partitions in trouble: what they print of Kafka's broker and of ours."""

import re
import sys
from collections.abc import Callable

import pytest

from odradek.cli.main import main
from support.ended import Ended
from support.group_tools import differences
from support.script_stage import ScriptStage

Stages = list[ScriptStage]
Odradek = Callable[..., Ended]

LAST_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


@pytest.fixture
def odradek(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """A command, on a stage. What it prints is compared, and so is its JSON."""

    def once(stage: ScriptStage, *arguments: str) -> Ended:
        monkeypatch.setenv("ODRADEK_BOOTSTRAP", stage.bootstrap)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
        ended = Ended(main(arguments), *capfd.readouterr())
        shown = f"{ended.out}{ended.err}status {ended.status}"
        # What a broker says of an error is its own.
        shown = re.sub(r": [^:\n]*( \([A-Z_]+\))$", r":\1", shown, flags=re.MULTILINE)
        shown = re.sub(r'"message": "[^"]*"', "message", shown)
        for log_dir in stage.log_dirs:
            shown = shown.replace(log_dir, "a directory")
        stage.keep(re.sub(r" +", " ", shown))
        stage.settle()
        return ended

    return once


def test_quotas(scripts: Stages, odradek: Odradek) -> None:
    who = ("--user", "cli", "--client-id-default")

    def case(stage: ScriptStage) -> None:
        for form in ([], ["--json"]):
            odradek(stage, "quotas", "set", *who, "producer_byte_rate=10MB/s", "request_percentage=5%", *form)
            odradek(stage, "quotas", "set", "--user", "cli", "consumer_byte_rate=1MiB/s", "--dry-run", *form)
            odradek(stage, "quotas", "set", "--user", "cli", "controller_mutation_rate=2.5/s", *form)
            odradek(stage, "quotas", "set", "--ip", "127.0.0.3", "connection_creation_rate=900", *form)
            odradek(stage, "quotas", "describe", "--user", "cli", *form)
            odradek(stage, "quotas", "describe", "--user", "cli", "--strict", *form)
            odradek(stage, "quotas", "describe", "--ip", "127.0.0.3", *form)
            odradek(stage, "quotas", "describe", "--ip-default", *form)
            for bad in ("producer_byte_rate=-1", "nonsense=5", "connection_creation_rate=1"):
                odradek(stage, "quotas", "set", "--user", "cli", bad, *form)
            odradek(stage, "quotas", "unset", *who, "--all", *form)
            odradek(stage, "quotas", "unset", "--user", "cli", "controller_mutation_rate", "producer_byte_rate", *form)
            odradek(stage, "quotas", "unset", "--ip", "127.0.0.3", "--all", *form)
            odradek(stage, "quotas", "describe", "--user", "cli", *form)

    assert differences(case, scripts) == ""


def test_records(scripts: Stages, odradek: Odradek) -> None:
    def case(stage: ScriptStage) -> None:
        odradek(stage, "topics", "create", "cut-by-cli", "--partitions", "2", "--config", "retention.ms=-1")
        for number in range(5):
            at = str(LAST_MS - (4 - number) * HOUR_MS)
            odradek(stage, "produce", "cut-by-cli", "--value", str(number), "--partition", "0", "--timestamp", at)
        for form in ([], ["--json"]):
            odradek(stage, "records", "count", "cut-by-cli", *form)
            odradek(stage, "records", "count", "cut-by-cli", "--exact", *form)
            for moment in (str(LAST_MS - HOUR_MS), "earliest", "latest", "max-timestamp"):
                odradek(stage, "records", "offsets-at", moment, "cut-by-cli", *form)
            odradek(stage, "records", "delete", "cut-by-cli", "--before-time", str(LAST_MS), "--dry-run", *form)
            odradek(stage, "records", "delete", "cut-by-cli", "--before-offset", "2", *form)
            odradek(stage, "records", "delete", "cut-by-cli:0", "--before-offset", "2", *form)
        odradek(stage, "records", "count", "cut-by-cli", "--exact")
        odradek(stage, "configs", "set", "topics/cut-by-cli", "cleanup.policy=compact")
        odradek(stage, "records", "delete", "cut-by-cli", "--all", "--json")
        odradek(stage, "records", "count", "cut-by-cli:0,7")
        odradek(stage, "records", "count", "never-made")
        odradek(stage, "topics", "delete", "cut-by-cli")

    assert differences(case, scripts) == ""


def test_sizes_and_partitions_in_trouble(scripts: Stages, odradek: Odradek) -> None:
    def case(stage: ScriptStage) -> None:
        odradek(stage, "topics", "create", "sized-by-cli", "--partitions", "2")
        odradek(stage, "produce", "sized-by-cli", "--value", "one", "--partition", "0")
        for form in ([], ["--json"]):
            odradek(stage, "log", "sizes", "--topic", "sized-by-cli", *form)
            odradek(stage, "log", "sizes", *stage.log_dirs, "--topic", "sized-by-cli", "--sort", "name", *form)
            odradek(stage, "log", "sizes", "--topic", "sized-by-cli", "--by", "topic", *form)
        for trouble in ("under-replicated", "unavailable", "under-min-isr", "at-min-isr"):
            odradek(stage, "topics", "describe", "sized-by-cli", f"--{trouble}")
        odradek(stage, "configs", "set", "topics/sized-by-cli", "min.insync.replicas=2")
        for trouble in ("under-min-isr", "at-min-isr"):
            odradek(stage, "topics", "describe", "sized-by-cli", f"--{trouble}")
        odradek(stage, "topics", "delete", "sized-by-cli")

    assert differences(case, scripts) == ""
