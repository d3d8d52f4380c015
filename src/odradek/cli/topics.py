"""`odradek topics`: list, describe, create, alter and delete."""

import argparse
import json
import sys

from odradek.cli import reaching, topics_describe
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.streams import complain, confirmed
from odradek.cli.table import table
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.configs import Resource, ResourceType, alter_configs
from odradek.client.topics import BROKERS_DEFAULT, NewTopic, Outcomes, create_topics, delete_topics, grow_topics
from odradek.model.error_code import ErrorCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    listing = verbs.add("list", list_topics, "list topics")
    listing.add_argument("--internal", action="store_true", help="also those that Kafka keeps for itself")
    topics_describe.add_arguments(verbs)
    _add_creating(verbs)
    altering = verbs.add("alter", alter, "add partitions to topics, or change their settings")
    altering.add_argument("names", metavar="NAME", nargs="+", help="a topic")
    altering.add_argument("--partitions", metavar="N", type=int, help="how many there shall be: more than now")
    _add_config(altering)
    deleting = verbs.add("delete", delete, "delete topics and all that is in them")
    deleting.add_argument("names", metavar="NAME", nargs="+", help="a topic")
    deleting.add_argument("--yes", action="store_true", help="do not ask first; nobody is asked without a terminal")
    deleting.add_argument("--if-exists", action="store_true", help="a topic that is not there is no failure")


def _add_creating(verbs: Verbs) -> None:
    parser = verbs.add("create", create, "make new topics")
    parser.add_argument("names", metavar="NAME", nargs="+", help="a topic")
    parser.add_argument("--partitions", metavar="N", type=int, default=BROKERS_DEFAULT, help="(the broker's default)")
    parser.add_argument(
        "--replication-factor", metavar="N", type=int, default=BROKERS_DEFAULT, help="(the broker's default)"
    )
    _add_config(parser)
    parser.add_argument("--if-not-exists", action="store_true", help="a topic that is there already is no failure")


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        metavar="NAME=VALUE",
        type=reaching.key_and_value,
        action="append",
        default=[],
        help="a setting of the topics; may be repeated",
    )


def list_topics(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        view = await client.look_up(None)
        shown = [topic for topic in view.topics.values() if options.internal or not topic.is_internal]
        if options.json:
            for topic in shown:
                fields = {
                    "topic": topic.name,
                    "partitions": len(topic.partitions),
                    "replication_factor": topic.replication_factor,
                    "internal": topic.is_internal,
                }
                print(json.dumps(fields))
        elif shown:
            rows = [(topic.name, len(topic.partitions), topic.replication_factor) for topic in shown]
            print(*table(("topic", "partitions", "replicas"), rows, right=("partitions", "replicas")), sep="\n")
        return 0

    return reaching.run(options, work)


def create(options: argparse.Namespace) -> int:
    new = [
        NewTopic(
            name=name,
            partitions=options.partitions,
            replication_factor=options.replication_factor,
            configs=dict(options.config),
        )
        for name in dict.fromkeys(options.names)
    ]
    excused = ErrorCode.TOPIC_ALREADY_EXISTS if options.if_not_exists else None

    async def work(client: Client) -> int:
        return _report(await create_topics(client, new), "created", excused, options)

    return reaching.run(options, work)


def alter(options: argparse.Namespace) -> int:
    if options.partitions is None and not options.config:
        raise Misused("nothing to alter: give --partitions or --config")
    names = list(dict.fromkeys(options.names))

    async def work(client: Client) -> int:
        outcomes: Outcomes = dict.fromkeys(names)
        if options.config:
            for name in names:
                resource = Resource(ResourceType.TOPIC, name)
                outcomes[name] = await alter_configs(client, resource, dict(options.config))
        rest = [name for name, refused in outcomes.items() if refused is None]
        if options.partitions is not None and rest:
            outcomes |= await grow_topics(client, rest, options.partitions)
        return _report(outcomes, "altered", None, options)

    return reaching.run(options, work)


def delete(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.names))
    whose = "its" if len(names) == 1 else "their"
    question = f"delete {', '.join(names)} and all {whose} records?"
    if not options.yes and sys.stdin.isatty() and not confirmed(question):
        complain("nothing was deleted")
        return EXIT_FAILED
    excused = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if options.if_exists else None

    async def work(client: Client) -> int:
        return _report(await delete_topics(client, names), "deleted", excused, options)

    return reaching.run(options, work)


def _report(outcomes: Outcomes, done: str, excused: ErrorCode | None, options: argparse.Namespace) -> int:
    """Tells of each topic; 1 if one was refused for another reason than the excused one."""
    status = 0
    for name, refused in outcomes.items():
        fields: dict[str, str | None] = {"outcome": done if refused is None else "unchanged"}
        if refused is not None and refused.code is not excused:
            fields = {"error": refused.code.name, "message": refused.message}
            complain(f"{name}: {refused}")
            status = EXIT_FAILED
        if options.json:
            print(json.dumps({"topic": name, **fields}))
        elif refused is None:
            print(f"{done} {name}")
    return status
