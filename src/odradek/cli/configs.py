"""`odradek configs`: show and change settings, of resources such as `topics/NAME`, `brokers/ID`, `brokers` for all."""

import argparse
import json
from collections.abc import Iterator, Mapping

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED
from odradek.cli.streams import CONTROLS, complain
from odradek.cli.table import table
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.configs import ConfigView, Resource, ResourceType, Source, alter_configs, describe_configs

_KINDS = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "groups": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "broker-loggers": ResourceType.BROKER_LOGGER,
}
_OF_ONE_BROKER = ("brokers", "broker-loggers")
_SOURCES = {
    Source.TOPIC: "topic",
    Source.BROKER: "broker",
    Source.ALL_BROKERS: "brokers",
    Source.SERVER_PROPERTIES: "server.properties",
    Source.DEFAULT: "default",
    Source.BROKER_LOGGER: "logger",
    Source.CLIENT_METRICS: "client-metrics",
    Source.GROUP: "group",
    Source.UNKNOWN: "unknown",
}
_TITLES: tuple[str, ...] = ("name", "value", "source", "default", "synonyms")
_RESOURCE_HELP = (
    "topics/NAME, brokers/ID, brokers for what holds for all of them, groups/NAME, client-metrics/NAME "
    "or broker-loggers/ID"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    describing = verbs.add("describe", describe, "show settings")
    describing.add_argument("resources", metavar="RESOURCE", nargs="+", type=resource, help=_RESOURCE_HELP)
    describing.add_argument("--all", action="store_true", help="also those that have their defaults, and all layers")
    setting = verbs.add("set", set_configs, "change some settings; the others stay as they are")
    setting.add_argument("resource", metavar="RESOURCE", type=resource, help=_RESOURCE_HELP)
    setting.add_argument("changes", metavar="NAME=VALUE", nargs="+", type=reaching.key_and_value, help="a setting")
    unsetting = verbs.add("unset", unset_configs, "take settings back, so that what they hid holds again")
    unsetting.add_argument("resource", metavar="RESOURCE", type=resource, help=_RESOURCE_HELP)
    unsetting.add_argument("names", metavar="NAME", nargs="+", help="a setting")
    for changing in (setting, unsetting):
        changing.add_argument("--dry-run", action="store_true", help="ask the broker whether it would, and change none")


def resource(text: str) -> Resource:
    """For argparse."""
    kind, slash, name = text.partition("/")
    is_all_brokers = kind == "brokers" and not slash
    if kind not in _KINDS or not (name or is_all_brokers):
        raise argparse.ArgumentTypeError(f"{text!r} must be {_RESOURCE_HELP}")
    if kind in _OF_ONE_BROKER and name and not (name.isascii() and name.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r}: the id of a broker is a number")
    return Resource(_KINDS[kind], name)


def _title(resource: Resource) -> str:
    kind = next(text for text, kind in _KINDS.items() if kind is resource.type)
    return f"{kind}/{resource.name}" if resource.name else kind


def describe(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        status = 0
        described = await describe_configs(client, list(dict.fromkeys(options.resources)))
        for at, (resource, configs) in enumerate(described.items()):
            if not isinstance(configs, list):
                complain(f"{_title(resource)}: {configs}")
                status = EXIT_FAILED
                continue
            shown = [each for each in configs if options.all or each.source is not Source.DEFAULT]
            if options.json:
                for each in shown:
                    print(json.dumps({"resource": _title(resource), **_as_object(each)}))
            else:
                print(*([""] if at else []), *_as_text(resource, shown, layers=options.all), sep="\n")
        return status

    return reaching.run(options, work)


def set_configs(options: argparse.Namespace) -> int:
    return _alter(options, dict(options.changes))


def unset_configs(options: argparse.Namespace) -> int:
    return _alter(options, dict.fromkeys(options.names))


def _alter(options: argparse.Namespace, changes: Mapping[str, str | None]) -> int:
    title = _title(options.resource)

    async def work(client: Client) -> int:
        refused = await alter_configs(client, options.resource, changes, validate_only=options.dry_run)
        if refused is not None:
            complain(f"{title}: {refused}")
        if options.json:
            error = {"error": refused.code.name, "message": refused.message} if refused else {}
            print(json.dumps({"resource": title, "changes": changes, "dry_run": options.dry_run, **error}))
        elif refused is None:
            for name, value in changes.items():
                done = f"unset {name}" if value is None else f"set {name}={value}"
                print(f"{title}: {'would ' if options.dry_run else ''}{done}")
        return EXIT_FAILED if refused else 0

    return reaching.run(options, work)


def _as_object(config: ConfigView) -> dict[str, object]:
    return {
        "name": config.name,
        "value": config.value,
        "source": _SOURCES[config.source],
        "default": config.default,
        "sensitive": config.is_sensitive,
        "read_only": config.is_read_only,
        "synonyms": [
            {"name": each.name, "value": each.value, "source": _SOURCES[each.source]} for each in config.synonyms
        ],
    }


def _as_text(resource: Resource, configs: list[ConfigView], *, layers: bool) -> Iterator[str]:
    if not configs:
        yield f"{_title(resource)}: all settings have their defaults"
        return
    yield f"{_title(resource)}:"
    titles = _TITLES if layers else _TITLES[:-1]
    yield from table(titles, [_row(each)[: len(titles)] for each in configs])


def _row(config: ConfigView) -> tuple[object, ...]:
    value = "(hidden)" if config.is_sensitive else _shown(config.value)
    layers = [f"{_SOURCES[each.source]}:{each.name}={_shown(each.value)}" for each in config.synonyms]
    return config.name, value, _SOURCES[config.source], _shown(config.default), " ".join(layers)


def _shown(value: str | None) -> str | None:
    """Fit for a cell; an empty value must not look like the space between columns."""
    return value and value.translate(CONTROLS) if value != "" else '""'
