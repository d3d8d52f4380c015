"""What produce and consume share: settings for librdkafka, and first contact with the broker.

librdkafka waits and tries again, which is right for a service. Somebody at a terminal wants to hear at once that there
is no broker, or no such topic: so these questions are asked by our own client before it starts.
"""

import argparse
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from odradek.cli import reaching
from odradek.cli.main import Misused
from odradek.client.client import Client
from odradek.client.cluster import TopicView
from odradek.client.errors import ClientError, Refused
from odradek.model.error_code import ErrorCode
from odradek.model.errors import OdradekError

_CREATED_S = 3.0
"""How long to wait for a topic that the broker may be about to create: it does not say whether it is."""


class Failed(OdradekError):
    """Something went wrong that one line tells of."""


def settings(options: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """Names have underscores for dots. What the user's file says wins, apart from the brokers."""
    given = reaching.given_properties(options)
    own = {name.replace("_", "."): value for name, value in more.items()}
    return {"client.id": "odradek", "log_level": 0, **own, **given, "bootstrap.servers": _bootstrap(options, given)}


def _bootstrap(options: argparse.Namespace, given: dict[str, str]) -> str:
    return ",".join(map(str, reaching.addresses(options, given)))


def look_up(options: argparse.Namespace, *, create: bool) -> TopicView | None:
    """The topic, which may be made if `create`. None where our client cannot ask: it speaks plaintext alone."""
    if not reaching.is_plaintext(reaching.given_properties(options)):
        return None
    topic: str = options.topic
    found: list[TopicView] = []

    async def work(client: Client) -> int:
        async def attempt() -> TopicView:
            view = (await client.look_up([topic], create=create)).topics[topic]
            if view.error is not None:
                raise view.error
            return view

        found.append(await client.persist(attempt, timeout_s=min(options.timeout, _CREATED_S) if create else 0))
        return 0

    try:
        reaching.run(options, work)
    except Refused as refused:
        raise _no_topic(topic, refused) from None
    return found[0]


def _no_topic(topic: str, refused: Refused) -> ClientError | Failed:
    if refused.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return Failed(f"Topic '{topic}' does not exist")
    return Failed(f"{topic}: {refused}")


def misused(error: KafkaException) -> Misused:
    """For a setting that librdkafka refuses."""
    return Misused(text_of(error.args[0]))


def text_of(error: KafkaError) -> str:
    """Errors of librdkafka itself begin with `Local:`, those of a broker with `Broker:`."""
    text = error.str().removeprefix("Unable to produce message: ").removeprefix("Local: ").removeprefix("Broker: ")
    return text[:1].lower() + text[1:]
