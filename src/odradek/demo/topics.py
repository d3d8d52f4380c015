"""The topics of the demo: made in the beginning and, on a cluster of somebody else, deleted in the end."""

import asyncio
from collections.abc import Sequence

from odradek.client.client import Client, parse_bootstrap
from odradek.client.setting import ClientSetting
from odradek.client.topics import NewTopic, create_topics, delete_topics
from odradek.model.errors import OdradekError
from odradek.pipelines.contract import PIPELINE_PROGRESS

_MAKE_S = 5.0
_DELETE_S = 2.0
"""Somebody waits at a terminal for the end of it."""
_NAMED_MAX = 3


class TopicsInTheWay(OdradekError):
    """Whose records are in them is not known, and what is found in the end would not be what was simulated."""

    def __init__(self, bootstrap: str, names: Sequence[str]) -> None:
        named = ", ".join(names[:_NAMED_MAX]) + (f" and {len(names) - _NAMED_MAX} more" if names[_NAMED_MAX:] else "")
        command = f"odradek topics delete --bootstrap {bootstrap} {' '.join(names)}"
        super().__init__(f"{named} exist on {bootstrap}, and the demo makes its own; if they may go: {command}")


class NoTopic(OdradekError):
    """The cluster does not make or delete one."""


class Topics:
    """What was made, so that it can be deleted."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._made: list[str] = []

    def make(self, topics: Sequence[NewTopic]) -> None:
        """All of them, or none. Raises TopicsInTheWay, NoTopic, ClientError."""
        asyncio.run(self._make(topics))

    def delete(self) -> None:
        """What `make` made, and what the jobs told of themselves. Raises NoTopic, ClientError."""
        if self._made:
            asyncio.run(self._delete())

    async def _make(self, topics: Sequence[NewTopic]) -> None:
        names = [topic.name for topic in topics]
        async with await self._client(_MAKE_S) as client:
            there = set((await client.look_up(None)).topics)
            in_the_way = [name for name in names if name in there]
            if in_the_way:
                raise TopicsInTheWay(self._bootstrap, in_the_way)
            outcomes = await create_topics(client, topics)
            self._made = [name for name, refused in outcomes.items() if refused is None]
            if PIPELINE_PROGRESS not in there:
                self._made.append(PIPELINE_PROGRESS)  # the jobs make it
        for name, refused in outcomes.items():
            if refused is not None:
                raise NoTopic(f"topic {name} cannot be made: {refused}")

    async def _delete(self) -> None:
        async with await self._client(_DELETE_S) as client:
            there = set((await client.look_up(None)).topics)
            outcomes = await delete_topics(client, [name for name in self._made if name in there])
        for name, refused in outcomes.items():
            if refused is not None:
                raise NoTopic(f"topic {name} cannot be deleted: {refused}")

    async def _client(self, timeout_s: float) -> Client:
        """Tries that long with a broker that is gone. One that is there and slow is given its time."""
        setting = ClientSetting(client_id="odradek-demo", timeout_s=timeout_s)
        return await Client.connect(parse_bootstrap(self._bootstrap), setting)
