"""`odradek quotas`: how much users, client ids and addresses may use, and changes to it."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.quota_values import NAMES, VALUE_HELP, quota, shown
from odradek.cli.streams import CONTROLS, complain, lenient
from odradek.cli.table import table
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.quotas import (
    CLIENT_ID,
    DEFAULT,
    ENTITY_TYPES,
    IP,
    USER,
    Entity,
    EntityQuotas,
    alter_quotas,
    describe_quotas,
    matching,
)

_TITLES = (*ENTITY_TYPES, "quota", "value")
_WHO = {USER: "a user", CLIENT_ID: "a client id", IP: "an address"}
_SETTING_HELP = f"{', '.join(NAMES)}; {VALUE_HELP}"
_METAVARS = {USER: "NAME", CLIENT_ID: "ID", IP: "ADDRESS"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    describing = verbs.add("describe", describe, "show quotas: all, or those of a user, a client id or an address")
    describing.add_argument(
        "--strict", action="store_true", help="not those of a user and a client id, if one is named"
    )
    setting = verbs.add("set", set_quotas, "change some quotas; the others stay as they are")
    setting.add_argument(
        "changes",
        metavar="NAME=VALUE",
        nargs="+",
        type=quota,
        help=f"{', '.join(NAMES)}; {VALUE_HELP}".replace("%", "%%"),
    )
    unsetting = verbs.add("unset", unset_quotas, "take quotas back, so that the defaults hold again")
    unsetting.add_argument("names", metavar="NAME", nargs="*", help=", ".join(NAMES))
    unsetting.add_argument("--all", action="store_true", help="all that were set for just this")
    for changing in (setting, unsetting):
        changing.add_argument("--dry-run", action="store_true", help="ask the broker whether it would, and change none")
    for each in (describing, setting, unsetting):
        _add_entity(each)


def _add_entity(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for whom", "A user and a client id together are that client of that user.")
    for type_, who in _WHO.items():
        either = group.add_mutually_exclusive_group()
        either.add_argument(f"--{type_}", metavar=_METAVARS[type_], action="append", default=[], help=who)
        either.add_argument(
            f"--{type_}-default",
            dest=_dest(type_),
            action="append_const",
            const=DEFAULT,
            help=f"every {who.partition(' ')[2]} that has none of its own",
        )


def _dest(type_: str) -> str:
    """A name and the default come into the same list, in which there is to be one."""
    return type_.replace("-", "_")


def _entity(options: argparse.Namespace) -> Entity:
    entity: dict[str, str | None] = {}
    for type_ in ENTITY_TYPES:
        given = getattr(options, _dest(type_))
        if len(given) > 1:
            raise Misused(f"--{type_} can be given only once")
        if "" in given:
            raise Misused(f"--{type_} needs a name")
        if given:
            entity[type_] = given[0]
    if IP in entity and len(entity) > 1:
        raise Misused("--ip goes with no other")
    return entity


def describe(options: argparse.Namespace) -> int:
    entity = _entity(options)

    async def work(client: Client) -> int:
        found = await describe_quotas(client, matching(entity), strict=options.strict and bool(entity))
        if options.json:
            for each in found:
                print(json.dumps({"entity": each.entity, "quotas": each.quotas}))
        elif found:
            rows = [row for each in found for row in _rows(each)]
            print(*table(_TITLES, rows, right=("value",)), sep="\n", file=lenient(sys.stdout))
        return 0

    return reaching.run(options, work)


def _rows(found: EntityQuotas) -> Iterator[tuple[object, ...]]:
    names = [_name(found.entity[type_]) if type_ in found.entity else None for type_ in ENTITY_TYPES]
    for name, value in found.quotas.items():
        yield (*names, name, shown(name, value))


def _name(name: str | None) -> str:
    return "(default)" if name is DEFAULT else name


def _title(entity: Entity) -> str:
    return ", ".join(f"{type_} {_name(name)}" for type_, name in entity.items())


def set_quotas(options: argparse.Namespace) -> int:
    return _alter(options, dict(options.changes))


def unset_quotas(options: argparse.Namespace) -> int:
    if options.all == bool(options.names):
        raise Misused("give either names of quotas or --all")
    return _alter(options, dict.fromkeys(options.names))


def _alter(options: argparse.Namespace, changes: Mapping[str, float | None]) -> int:
    """Without changes, all quotas of the entity are taken back."""
    entity = _entity(options)
    if not entity:
        raise Misused("for whom? give --user, --client-id or --ip, or one of their defaults")

    async def work(client: Client) -> int:
        wanted = changes or await _all_of(client, entity)
        if not wanted:
            return 0
        refused = await alter_quotas(client, entity, wanted, validate_only=options.dry_run)
        if refused is not None:
            complain(f"{_title(entity)}: {refused}")
        if options.json:
            error = {"error": refused.code.name, "message": refused.message} if refused else {}
            print(json.dumps({"entity": entity, "changes": wanted, "dry_run": options.dry_run, **error}))
        elif refused is None:
            for name, value in wanted.items():
                done = f"unset {name}" if value is None else f"set {name} to {shown(name, value)}"
                text = f"{_title(entity)}: {'would ' if options.dry_run else ''}{done}"
                print(text.translate(CONTROLS), file=lenient(sys.stdout))
        return EXIT_FAILED if refused else 0

    return reaching.run(options, work)


async def _all_of(client: Client, entity: Entity) -> dict[str, None]:
    found = await describe_quotas(client, matching(entity), strict=True)
    return dict.fromkeys(name for each in found for name in each.quotas)
