"""`odradek cluster`: what a cluster is made of, levels of its features, elections of leaders, moves of replicas."""

import argparse
import json
import sys
from collections.abc import Mapping

from odradek.cli import cluster_elect, cluster_move, reaching
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.streams import complain, lenient
from odradek.cli.table import table
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.errors import Refused
from odradek.client.features import (
    BrokerView,
    FeatureView,
    Upgrade,
    describe_cluster,
    describe_features,
    update_features,
)

_BROKERS = ("id", "address", "rack", "state")
_FEATURES = ("feature", "level", "supported")
_LEVEL_MAX = 32_767


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    verbs.add("describe", describe, "show the cluster: its id, its controller, its brokers")
    levels = verbs.add("features", features, "show the levels of features, or change some")
    levels.add_argument(
        "levels", metavar="NAME=LEVEL", nargs="*", type=_level, help="change it to this level; 0 turns a feature off"
    )
    levels.add_argument("--downgrade", action="store_true", help="to a lower level, if nothing is lost by that")
    levels.add_argument("--unsafe", action="store_true", help="with --downgrade: also if something may be lost")
    levels.add_argument("--dry-run", action="store_true", help="ask the cluster whether it would, and change nothing")
    cluster_elect.add_arguments(verbs)
    cluster_move.add_arguments(verbs)


# --- describe


def describe(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        found = await describe_cluster(client)
        levels = {name: each.level for name, each in (await describe_features(client)).items() if each.level}
        controller = None if found.controller_id < 0 else found.controller_id
        if options.json:
            brokers = [dict(zip(_BROKERS, _broker(each), strict=True)) for each in found.brokers]
            parts = {"cluster": found.cluster_id, "controller": controller, "brokers": brokers, "features": levels}
            print(json.dumps(parts))
            return 0
        print(f"cluster {found.cluster_id}, {'no controller' if controller is None else f'controller {controller}'}")
        print(*table(_BROKERS, map(_broker, found.brokers), right=("id",)), sep="\n", file=lenient(sys.stdout))
        print("features:", ", ".join(f"{name} {level}" for name, level in levels.items()) or "none")
        return 0

    return reaching.run(options, work)


def _broker(broker: BrokerView) -> tuple[object, ...]:
    return (broker.node_id, str(broker.address), broker.rack, "fenced" if broker.is_fenced else "in service")


# --- features


def _level(text: str) -> tuple[str, int]:
    """For argparse."""
    name, _, level = text.partition("=")
    if not name or not (level.isascii() and level.isdecimal()) or int(level) > _LEVEL_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} must be NAME=LEVEL")
    return name, int(level)


def features(options: argparse.Namespace) -> int:
    if options.unsafe and not options.downgrade:
        raise Misused("--unsafe goes with --downgrade")
    if not options.levels and (options.downgrade or options.dry_run):
        raise Misused("which features? give NAME=LEVEL")

    async def work(client: Client) -> int:
        if options.levels:
            return await _change(client, dict(options.levels), options)
        _show(await describe_features(client), options)
        return 0

    return reaching.run(options, work)


def _show(found: Mapping[str, FeatureView], options: argparse.Namespace) -> None:
    if options.json:
        for name, each in found.items():
            print(json.dumps({"feature": name, "level": each.level, "least": each.least, "most": each.most}))
        return
    rows = [(name, each.level, f"{each.least} to {each.most}") for name, each in found.items()]
    print(*table(_FEATURES, rows, right=("level",)), sep="\n", file=lenient(sys.stdout))


async def _change(client: Client, levels: Mapping[str, int], options: argparse.Namespace) -> int:
    upgrade = Upgrade.UPGRADE
    if options.downgrade:
        upgrade = Upgrade.UNSAFE_DOWNGRADE if options.unsafe else Upgrade.SAFE_DOWNGRADE
    try:
        outcomes = await update_features(client, levels, upgrade, validate_only=options.dry_run)
    except Refused as error:
        complain(error)
        complain("no level was changed")
        return EXIT_FAILED
    status = 0
    for name, refused in outcomes.items():
        if refused is not None:
            complain(f"{name}: {refused}")
            status = EXIT_FAILED
        elif options.json:
            print(json.dumps({"feature": name, "level": levels[name], "dry_run": options.dry_run}))
        else:
            print(f"{name} {'could be' if options.dry_run else 'is'} at level {levels[name]}", file=lenient(sys.stdout))
    return status
