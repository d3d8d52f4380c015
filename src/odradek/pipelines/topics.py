"""The topics of jobs: those of results, which are made and looked at, and those that have to be there."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from odradek.client.client import Client, parse_bootstrap
from odradek.client.configs import Resource, ResourceType, describe_configs
from odradek.client.errors import Refused
from odradek.client.setting import ClientSetting
from odradek.client.topics import NewTopic, create_topics
from odradek.model.error_code import ErrorCode
from odradek.model.errors import OdradekError
from odradek.pipelines.registry import Job

T = TypeVar("T")

_POLICY = "cleanup.policy"
_SIZE = "max.message.bytes"
_COMPACT, _DELETE = "compact", "delete"


class CannotMakeTopic(OdradekError):
    """The cluster refused a result topic."""


class WrongTopic(OdradekError):
    """A result topic is there, and would lose results."""

    def __init__(self, job: Job, name: str, found: str, needed: str) -> None:
        super().__init__(
            f"topic {job.result} has {name}={found}, with which results of {job.name} would be lost; change it "
            f"(odradek configs set topics/{job.result} {name}={needed}), or delete the topic: it is made again"
        )


class NoInput(OdradekError):
    """What a job reads is not there."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(f"there is no {', and no '.join(missing)}; create it, or mend --bootstrap")


def make_topics(jobs: Sequence[Job], bootstrap: str) -> None:
    """Those of the results that are not there. Raises CannotMakeTopic, WrongTopic, ClientError."""

    async def make(client: Client) -> None:
        topics = [NewTopic(name=job.result, partitions=job.partitions, configs=job.configs) for job in jobs]
        outcomes = await create_topics(client, topics)
        for name, refused in outcomes.items():
            if refused is None or refused.code == ErrorCode.TOPIC_ALREADY_EXISTS:
                continue
            if refused.is_retriable:
                raise refused
            raise CannotMakeTopic(f"topic {name} cannot be made: {refused}")
        await _check(client, [job for job in jobs if outcomes[job.result] is not None])

    _ask(bootstrap, make)


def missing_inputs(job: Job, bootstrap: str) -> list[str]:
    """What it reads and is not there, in words. Raises ClientError."""
    named = [job.source["subscribe"]] if "subscribe" in job.source else []
    if job.table is not None:
        named.append(job.table)
    pattern = job.source.get("subscribePattern")

    async def look(client: Client) -> list[str]:
        view = await client.look_up(None if pattern is not None else named)
        there = {name for name, topic in view.topics.items() if topic.error is None}
        missing = [f"topic {name}" for name in named if name not in there]
        if pattern is not None and not any(re.search(pattern, name) for name in there):
            missing.append(f"topic that matches {pattern}")
        return missing

    return _ask(bootstrap, look)


def check_inputs(jobs: Sequence[Job], bootstrap: str) -> None:
    """Raises NoInput, ClientError."""
    missing = dict.fromkeys(each for job in jobs for each in missing_inputs(job, bootstrap))
    if missing:
        raise NoInput(list(missing))


def _ask(bootstrap: str, ask: Callable[[Client], Awaitable[T]]) -> T:
    async def work() -> T:
        setting = ClientSetting(client_id="odradek-pipelines")
        async with await Client.connect(parse_bootstrap(bootstrap), setting) as client:
            return await ask(client)

    return asyncio.run(work())


async def _check(client: Client, jobs: Sequence[Job]) -> None:
    """Whoever may not see the settings of a topic is believed to have it right. Raises WrongTopic."""
    topics = {Resource(ResourceType.TOPIC, job.result): job for job in jobs}
    for topic, configs in (await describe_configs(client, list(topics))).items():
        if not isinstance(configs, Refused):
            _check_one(topics[topic], {each.name: each.value or "" for each in configs})


def _check_one(job: Job, found: Mapping[str, str]) -> None:
    policy, needed = found.get(_POLICY, _DELETE), job.configs.get(_POLICY, _DELETE)
    if not _keeps(_policies(policy), _policies(needed)):
        raise WrongTopic(job, _POLICY, policy, needed)
    size, least = found.get(_SIZE), job.configs.get(_SIZE)
    if size is not None and least is not None and int(size) < int(least):
        raise WrongTopic(job, _SIZE, size, least)


def _keeps(found: set[str], needed: set[str]) -> bool:
    """A table that is not compacted grows without end, and what is no table must keep all rows of a key. A table whose
    rows count for ever must not lose old ones; one whose old rows may go may also keep them."""
    return (_COMPACT in found) == (_COMPACT in needed) and (_DELETE not in found or _DELETE in needed)


def _policies(text: str) -> set[str]:
    return {each.strip() for each in text.split(",")}
