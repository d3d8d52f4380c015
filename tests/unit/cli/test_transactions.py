"""What `odradek transactions` is told, and what it says without a broker."""

import pytest

from odradek.cli.main import main
from odradek.cli.transactions_partitions import clock_time
from odradek.model.numbers import TimestampMs

WAYS = "give an ID, or --topic and --partition with either --start-offset or --producer-id and --producer-epoch"


@pytest.fixture(autouse=True)
def _nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "127.0.0.1:1")


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--state", "asleep"],
        ["list", "--producer-id", "x"],
        ["list", "--open-for", "soon"],
        ["producers"],
        ["producers", "--topic", "orders", "--partition", "-1"],
        ["find-hanging", "--max-transaction-timeout", "-5"],
        ["find-hanging", "--broker", "x"],
        ["abort", "--topic", "orders", "--partition", "0", "--start-offset", "-1"],
    ],
)
def test_what_argparse_refuses(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["transactions", *arguments])
    assert stopped.value.code == 2
    assert "usage: odradek transactions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["find-hanging", "--partition", "0"], "--partition needs --topic"),
        (["abort"], WAYS),
        (["abort", "--topic", "t"], WAYS),
        (["abort", "--topic", "t", "--partition", "0"], WAYS),
        (["abort", "--topic", "t", "--start-offset", "0"], WAYS),
        (["abort", "shop", "--topic", "t", "--partition", "0"], WAYS),
        (["abort", "shop", "--topic", "t", "--partition", "0", "--start-offset", "0"], WAYS),
        (["abort", "--topic", "t", "--partition", "0", "--start-offset", "0", "--producer-id", "1"], WAYS),
        (["abort", "--topic", "t", "--partition", "0", "--producer-id", "1"], WAYS),
        (["abort", "--topic", "t", "--partition", "0", "--producer-epoch", "1"], WAYS),
        (["abort", "--topic", "t", "--partition", "0", "--coordinator-epoch", "1"], WAYS),
    ],
)
def test_what_the_command_refuses(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transactions", *arguments]) == 2
    assert capsys.readouterr().err == f"odradek: {told}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["describe", "shop"],
        ["producers", "--topic", "t"],
        ["find-hanging"],
        ["abort", "shop", "--yes"],
        ["abort", "--yes", "--topic", "t", "--partition", "0", "--start-offset", "0"],
    ],
)
def test_no_broker_is_one_line_and_status_1(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transactions", *arguments]) == 1
    assert capsys.readouterr().err == "odradek: cannot reach 127.0.0.1:1: connection refused\n"


def test_times_that_producers_made_up() -> None:
    assert clock_time(TimestampMs(1_700_000_000_123)) == "2023-11-14T22:13:20.123Z"
    assert clock_time(TimestampMs(-1)) == "1969-12-31T23:59:59.999Z"
    assert clock_time(TimestampMs((1 << 63) - 1)) == str((1 << 63) - 1)
    assert clock_time(TimestampMs(-(1 << 63))) == str(-(1 << 63))
