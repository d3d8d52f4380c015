"""What a node is told at its start: a file, options of the command line, and defaults for one that is on its own.

Later ones win: defaults, the file, `--data` and `--listen`, `--set`.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.model import properties
from odradek.model.address import format_host, parse_address
from odradek.model.broker_config import BrokerConfig, parse_setting
from odradek.model.broker_config.addresses import parse_listener
from odradek.model.errors import InvalidConfig
from odradek.server.config_providers import Variables

WITHOUT_FILE = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "log.dirs": "odradek-data",
}
"""Defaults for a node that is started without a file, where Kafka asks for a value or takes another.

Kafka listens on all interfaces, and keeps its logs where a restart of the machine may remove them.
"""

ALONE = {
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.replication.factor": "1",
}
"""Defaults for a node that is the whole cluster, file or not: there, no topic can have Kafka's three replicas."""


class Given(NamedTuple):
    """A setting, and who says so."""

    name: str
    text: str
    place: str
    """For messages: a file and line, or an option of the command line. Empty for defaults."""


def load(
    path: str | None = None,
    overrides: Sequence[str] = (),
    data_dirs: Sequence[str] = (),
    listen: str | None = None,
) -> BrokerConfig:
    """The settings of `odradek serve [--config PATH] [--set OVERRIDE]... [--data DIR]... [--listen HOST:PORT]`.

    Raises InvalidConfig for whatever is wrong in them, with the file and line or the option; and OSError, with the
    name of the file, where it cannot be read.
    """
    written = [Given(name, text, "") for name, text in WITHOUT_FILE.items()] if path is None else _read(path)
    resolved = _resolved([*written, *map(_override, overrides)])
    given, overriding = resolved[: len(written)], resolved[len(written) :]
    if data_dirs:
        given.append(_data(data_dirs))
    if listen is not None:
        given.append(_listen(given, listen))
    texts = _check_each([*given, *overriding])
    try:
        config = BrokerConfig.parse(texts)
        if config.is_alone:
            config = BrokerConfig.parse({**ALONE, **texts})
    except InvalidConfig as error:
        raise InvalidConfig(f"{path}: {error}" if path is not None else str(error)) from None
    return config


def _read(path: str) -> list[Given]:
    data = Path(path).read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidConfig(f"{path}, line {line}: not text in UTF-8") from None
    try:
        return [Given(each.name, each.value, f"{path}, line {each.line}") for each in properties.parse(text)]
    except InvalidConfig as error:
        raise InvalidConfig(f"{path}, {error}") from None


def _data(directories: Sequence[str]) -> Given:
    for directory in directories:
        if "," in directory or directory != directory.strip() or not directory:
            raise InvalidConfig(f"--data {directory!r}: must have a name, without commas and without space around it")
    return Given("log.dirs", ",".join(directories), "--data")


def _listen(given: Iterable[Given], address: str) -> Given:
    """The listeners that were given, with the first that is for clients at another address."""
    place = f"--listen {address}"
    try:
        host, port = parse_address(address) if not address.startswith(":") else ("", parse_address(f"x{address}").port)
        texts = {each.name: each.text for each in given}
        listeners = [parse_listener(each.strip()) for each in texts.get("listeners", "PLAINTEXT://:9092").split(",")]
    except InvalidConfig as error:
        raise InvalidConfig(f"{place}: {error}") from None
    controllers = {name.strip().upper() for name in texts.get("controller.listener.names", "").split(",")}
    for at, listener in enumerate(listeners):
        if listener.name not in controllers:
            listeners[at] = listener._replace(host=host, port=port)
            break
    else:
        raise InvalidConfig(f"{place}: listeners has none for clients")
    text = ",".join(f"{each.name}://{format_host(each.host)}:{each.port}" for each in listeners)
    return Given("listeners", text, place)


def _override(text: str) -> Given:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidConfig(f"--set {text!r}: must be NAME=VALUE")
    return Given(name.strip(), value, f"--set {name.strip()}")  # without the value, which may be a password


def _resolved(given: Sequence[Given]) -> list[Given]:
    """With the values of `${provider:path:key}` in their places."""
    variables = Variables({each.name: each.text for each in given}, os.environ)
    resolved = []
    for each in given:
        try:
            resolved.append(each._replace(text=variables.resolve(each.text)))
        except InvalidConfig as error:
            raise InvalidConfig(f"{each.place}: {each.name}: {error}") from None
    return resolved


def _check_each(given: Sequence[Given]) -> dict[str, str]:
    """The texts by name, each of them valid by itself; of several for one name, the last."""
    last = {each.name: each for each in given}
    texts = {name: each.text for name, each in last.items()}
    for each in last.values():
        try:
            parse_setting(each.name, each.text, texts)
        except InvalidConfig as error:
            raise InvalidConfig(f"{each.place}: {error}") from None
    return texts
