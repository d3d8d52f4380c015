"""Which quota holds for whom."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple, Protocol, TypeAlias

from odradek.controller.quotas import CLIENT_ID, CONNECTION_CREATION_RATE, IP, USER
from odradek.metadata.image import QuotaKey
from odradek.wire.records.metadata import ClientQuotaRecord

ANY = None
"""In place of a name: the default, for all who have no quota of their own."""
NOT_ASKED = ""
"""In place of a name, where a quota does not go by it. No user and no client that has a quota has an empty name."""

Entity: TypeAlias = tuple[str | None, str | None]
"""A user and a client id."""


class QuotaEntity(Protocol):
    """Who is held to a quota. A `Call` is one."""

    @property
    def user(self) -> str: ...

    @property
    def client_id(self) -> str | None: ...


class Limit(NamedTuple):
    shared_by: tuple[str, str]
    """The user and the client id of those who are counted together: of one who is not asked for, all."""
    bound: float


class Limits:
    """Of one kind, as the metadata has them."""

    def __init__(self, bounds: Mapping[Entity, float]) -> None:
        self._bounds = bounds

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def of(self, user: str, client_id: str) -> Limit | None:
        """The first that holds, in Kafka's order: what is said of a user comes before what is said of a client id."""
        for entity, shared_by in _candidates(user, client_id):
            bound = self._bounds.get(entity)
            if bound is not None:
                return Limit(shared_by, bound)
        return None


def _candidates(user: str, client_id: str) -> Iterator[tuple[Entity, tuple[str, str]]]:
    """Each with those who share it. A client without an id has none of the quotas that go by it."""
    for each in (user, ANY):
        if client_id:
            yield (each, client_id), (user, client_id)
            yield (each, ANY), (user, client_id)
        yield (each, NOT_ASKED), (user, NOT_ASKED)
    if client_id:
        yield (NOT_ASKED, client_id), (NOT_ASKED, client_id)
        yield (NOT_ASKED, ANY), (NOT_ASKED, client_id)


def limits_in(quotas: Mapping[QuotaKey, ClientQuotaRecord], kind: str) -> Limits:
    """Those of users and client ids."""
    bounds: dict[Entity, float] = {}
    for quota, record in quotas.items():
        names = dict(quota.entity)
        if quota.key == kind and IP not in names and _holds(record.value):
            bounds[names.get(USER, NOT_ASKED), names.get(CLIENT_ID, NOT_ASKED)] = record.value
    return Limits(bounds)


def connection_rates_in(quotas: Mapping[QuotaKey, ClientQuotaRecord]) -> dict[str | None, float]:
    """Connections a second by the host that they come from, or by `ANY`."""
    return {
        quota.entity[0][1]: record.value
        for quota, record in quotas.items()
        if quota.key == CONNECTION_CREATION_RATE and quota.entity[0][0] == IP and _holds(record.value)
    }


def _holds(bound: float) -> bool:
    """Kafka takes what is no number for a quota, and then holds nobody to it."""
    return isfinite(bound) and bound > 0
