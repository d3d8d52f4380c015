"""Which quota holds for whom, and who shares it."""

from itertools import combinations

import pytest

from odradek.broker.quotas.limits import ANY, Limit, Limits, connection_rates_in, limits_in
from odradek.metadata.delta import Delta
from odradek.metadata.image import EMPTY, Image
from odradek.wire.records.metadata import ClientQuotaRecord, EntityData

IN_ORDER = [
    (("alice", "app"), ("alice", "app")),
    (("alice", ANY), ("alice", "app")),
    (("alice", ""), ("alice", "")),
    ((ANY, "app"), ("alice", "app")),
    ((ANY, ANY), ("alice", "app")),
    ((ANY, ""), ("alice", "")),
    (("", "app"), ("", "app")),
    (("", ANY), ("", "app")),
]
"""Kafka's, first to last, each with those who are counted together."""


@pytest.mark.parametrize("at", range(len(IN_ORDER)))
def test_the_first_that_is_there_holds(at: int) -> None:
    bounds = {entity: float(number) for number, (entity, _) in enumerate(IN_ORDER) if number >= at}
    assert Limits(bounds).of("alice", "app") == Limit(IN_ORDER[at][1], float(at))


def test_every_pair_is_in_order() -> None:
    for (first, shared_by), (second, _) in combinations(IN_ORDER, 2):
        assert Limits({second: 2.0, first: 1.0}).of("alice", "app") == Limit(shared_by, 1.0)


def test_others_have_none() -> None:
    limits = Limits({("alice", ""): 1.0, ("alice", "app"): 2.0, ("", "app"): 3.0, (ANY, "batch"): 4.0})
    assert limits.of("bob", "tool") is None
    assert limits.of("bob", "app") == Limit(("", "app"), 3.0)
    assert limits.of("bob", "batch") == Limit(("bob", "batch"), 4.0)


def test_a_client_without_an_id_has_the_quotas_of_its_user_alone() -> None:
    limits = Limits({("alice", ANY): 1.0, ("", ANY): 2.0})
    assert limits.of("alice", "") is None
    assert Limits({("alice", ANY): 1.0, (ANY, ""): 2.0}).of("alice", "") == Limit(("alice", ""), 2.0)


def image_with(*quotas: tuple[dict[str, str | None], str, float]) -> Image:
    delta = Delta(EMPTY)
    for entity, key, value in quotas:
        data = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items())
        delta.replay(ClientQuotaRecord(entity=data, key=key, value=value, remove=False))
    return delta.finish(EMPTY.position)


def test_they_are_what_the_metadata_says() -> None:
    image = image_with(
        ({"user": "alice"}, "producer_byte_rate", 1.0),
        ({"client-id": "app", "user": "alice"}, "producer_byte_rate", 2.0),
        ({"user": None, "client-id": None}, "producer_byte_rate", 3.0),
        ({"client-id": None}, "consumer_byte_rate", 4.0),
        ({"ip": "127.0.0.1"}, "connection_creation_rate", 5.0),
        ({"ip": None}, "connection_creation_rate", 6.0),
    )
    limits = limits_in(image.quotas, "producer_byte_rate")
    assert limits.of("alice", "") == Limit(("alice", ""), 1.0)
    assert limits.of("alice", "app") == Limit(("alice", "app"), 2.0)
    assert limits.of("bob", "tool") == Limit(("bob", "tool"), 3.0)
    assert limits_in(image.quotas, "consumer_byte_rate").of("bob", "tool") == Limit(("", "tool"), 4.0)
    assert not limits_in(image.quotas, "request_percentage")
    assert connection_rates_in(image.quotas) == {"127.0.0.1": 5.0, ANY: 6.0}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, -1.0])
def test_what_is_no_bound_holds_nobody_back(value: float) -> None:
    image = image_with(({"user": "alice"}, "producer_byte_rate", value))
    assert not limits_in(image.quotas, "producer_byte_rate")
