"""How commands reach a broker: the options that all of them have, and a client made of these."""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from odradek.cli.main import Misused
from odradek.client.client import Client, parse_bootstrap
from odradek.client.setting import ClientSetting
from odradek.model import properties
from odradek.model.address import Address
from odradek.model.errors import InvalidConfig

ENVIRONMENT = "ODRADEK_BOOTSTRAP"
DEFAULT = "127.0.0.1:9092"
TIMEOUT_S = 30.0
PLAINTEXT = "PLAINTEXT"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connection")
    group.add_argument(
        "--bootstrap",
        metavar="HOST:PORT,...",
        help=f"brokers to begin with (default: ${ENVIRONMENT}, else {DEFAULT})",
    )
    group.add_argument(
        "--timeout", metavar="SECONDS", type=positive_seconds, default=TIMEOUT_S, help="for brokers to answer (30)"
    )
    group.add_argument("--command-config", metavar="FILE", help="a properties file of Kafka's clients")


def positive_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError(text)
    return seconds


def given_properties(options: argparse.Namespace) -> dict[str, str]:
    """What the file of `--command-config` says, if there is one."""
    if options.command_config is None:
        return {}
    try:
        text = Path(options.command_config).read_text(encoding="utf-8")
        return {each.name: each.value.strip() for each in properties.parse(text)}
    except (InvalidConfig, UnicodeDecodeError) as error:
        raise Misused(f"{options.command_config}: {error}") from None


def bootstrap_text(options: argparse.Namespace, given: Mapping[str, str]) -> str:
    """The option wins over the file, the file over the environment."""
    return options.bootstrap or given.get("bootstrap.servers") or os.environ.get(ENVIRONMENT) or DEFAULT


def addresses(options: argparse.Namespace, given: Mapping[str, str]) -> tuple[Address, ...]:
    try:
        return parse_bootstrap(bootstrap_text(options, given))
    except InvalidConfig as error:
        raise Misused(f"--bootstrap: {error}") from None


def is_plaintext(given: Mapping[str, str]) -> bool:
    return given.get("security.protocol", PLAINTEXT).upper() == PLAINTEXT


def run(options: argparse.Namespace, work: Callable[[Client], Awaitable[int]]) -> int:
    """The exit status that `work` returns for a client of the cluster that the options name."""
    given = given_properties(options)
    if not is_plaintext(given):
        raise Misused(f"security.protocol={given['security.protocol']} is not spoken here yet, only {PLAINTEXT}")
    bootstrap = addresses(options, given)
    setting = ClientSetting(
        client_id=given.get("client.id", "odradek"),
        connect_timeout_s=options.timeout,
        request_timeout_s=options.timeout,
        timeout_s=options.timeout,
    )

    async def main() -> int:
        async with await Client.connect(bootstrap, setting) as client:
            return await work(client)

    return asyncio.run(main())


def key_and_value(text: str) -> tuple[str, str]:
    """`name=value`, for argparse."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} must be NAME=VALUE")
    return name.strip(), value
