"""Quotas: set, removed, found, and refused."""

from math import inf, nan
from typing import TYPE_CHECKING, Any

import pytest

from odradek.controller import quotas
from odradek.controller.quotas import Alteration, Component, Match, Operation
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError

if TYPE_CHECKING:
    from odradek.controller.quotas import Entity

ALICE: "Entity" = {"user": "alice"}
APP: "Entity" = {"user": "alice", "client-id": "app"}
ANYBODY: "Entity" = {"user": None, "client-id": None}
HERE: "Entity" = {"ip": "127.0.0.1"}


def alter(cluster: Any, *alterations: Alteration, validate_only: bool = False, unknown: tuple[str, ...] = ()) -> Any:
    """The codes, None for what is done."""
    decision = quotas.alter(cluster.image, alterations, unknown, validate_only=validate_only)
    return [each.error and each.error.code for each in cluster.do(decision)]


def put(entity: "Entity", **values: float | None) -> Alteration:
    return Alteration(entity, [Operation(key, value) for key, value in values.items()])


def found(cluster: Any, *components: Component, strict: bool = False) -> dict[str, dict[str, float]]:
    """By what the entity looks like."""
    return {
        ",".join(f"{kind}={name}" for kind, name in each.entity.items()): dict(each.values)
        for each in quotas.find(cluster.image, components, strict=strict)
    }


@pytest.fixture
def set_up(cluster: Any) -> Any:
    done = alter(
        cluster,
        put(ALICE, producer_byte_rate=100, consumer_byte_rate=200),
        put(APP, request_percentage=0.5),
        put(ANYBODY, controller_mutation_rate=2.5),
        put({"client-id": "app"}, producer_byte_rate=7),
        put(HERE, connection_creation_rate=3),
        put({"ip": None}, connection_creation_rate=4),
    )
    assert done == [None] * 6
    return cluster


def test_what_is_set_is_found(set_up: Any) -> None:
    assert found(set_up) == {
        "user=alice": {"producer_byte_rate": 100, "consumer_byte_rate": 200},
        "client-id=app,user=alice": {"request_percentage": 0.5},
        "client-id=None,user=None": {"controller_mutation_rate": 2.5},
        "client-id=app": {"producer_byte_rate": 7},
        "ip=127.0.0.1": {"connection_creation_rate": 3},
        "ip=None": {"connection_creation_rate": 4},
    }


def test_what_is_removed_is_not_found(set_up: Any) -> None:
    assert alter(set_up, put(ALICE, producer_byte_rate=None, consumer_byte_rate=300)) == [None]
    assert found(set_up, Component("user", Match.EXACT.value, "alice"), strict=True) == {
        "user=alice": {"consumer_byte_rate": 300}
    }
    assert alter(set_up, put(ALICE, consumer_byte_rate=None)) == [None]
    assert found(set_up, Component("user", Match.EXACT.value, "alice"), strict=True) == {}


def test_an_entity_is_the_same_in_whatever_order_it_is_named(set_up: Any) -> None:
    assert alter(set_up, put({"client-id": "app", "user": "alice"}, request_percentage=1)) == [None]
    assert found(set_up)["client-id=app,user=alice"] == {"request_percentage": 1}


def test_only_what_changes_is_written(set_up: Any) -> None:
    same = [put(ALICE, producer_byte_rate=100, request_percentage=None), put({"user": "bob"}, producer_byte_rate=None)]
    assert quotas.alter(set_up.image, same, validate_only=False).records == ()


def test_what_is_only_validated_is_not_written(cluster: Any) -> None:
    asked = (put(ALICE, producer_byte_rate=100), put({**ALICE, "ip": "::1"}, producer_byte_rate=1))
    assert alter(cluster, *asked, validate_only=True) == [None, ErrorCode.INVALID_REQUEST]
    assert found(cluster) == {}


@pytest.mark.parametrize(
    "alteration",
    [
        put({}, producer_byte_rate=1),
        put({"group": "g"}, producer_byte_rate=1),
        put({"user": ""}, producer_byte_rate=1),
        put({"user": "alice", "client-id": ""}, producer_byte_rate=1),
        put({"ip": "127.0.0.1", "user": "alice"}, connection_creation_rate=1),
        put({"ip": "no.such.host"}, connection_creation_rate=1),
        put(ALICE, no_such_quota=1),
        put(ALICE, connection_creation_rate=1),
        put(HERE, producer_byte_rate=1),
        put(ALICE, producer_byte_rate=0),
        put(ALICE, producer_byte_rate=-1),
        put(ALICE, producer_byte_rate=1.5),
        put(ALICE, producer_byte_rate=1e19),
        put(ALICE, producer_byte_rate=inf),
        put(ALICE, request_percentage=-0.1),
        put(HERE, connection_creation_rate=2.0**31),
        put(ALICE, consumer_byte_rate=5, producer_byte_rate=0),
        Alteration(ALICE, [Operation("producer_byte_rate", 1), Operation("producer_byte_rate", 2)]),
    ],
)
def test_refused_and_nothing_done(cluster: Any, alteration: Alteration) -> None:
    assert alter(cluster, alteration, unknown=("no.such.host",)) == [ErrorCode.INVALID_REQUEST]
    assert found(cluster) == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("producer_byte_rate", 2.0**63),
        ("producer_byte_rate", nan),
        ("request_percentage", inf),
        ("request_percentage", 1e-300),
        ("controller_mutation_rate", 0.1),
    ],
)
def test_taken_as_kafka_takes_it(cluster: Any, key: str, value: float) -> None:
    assert alter(cluster, put(ALICE, **{key: value})) == [None]


def test_what_is_wrong_with_one_entity_does_not_keep_the_others(cluster: Any) -> None:
    done = alter(cluster, put(ALICE, producer_byte_rate=1), put({"user": ""}, producer_byte_rate=1))
    assert done == [None, ErrorCode.INVALID_REQUEST]
    assert found(cluster) == {"user=alice": {"producer_byte_rate": 1}}


def test_of_an_entity_that_comes_twice_the_first_is_done_and_the_outcome_says_that_it_came_twice(cluster: Any) -> None:
    done = alter(cluster, put(ALICE, producer_byte_rate=1), put(ALICE, producer_byte_rate=2))
    assert done == [ErrorCode.INVALID_REQUEST]
    assert found(cluster) == {"user=alice": {"producer_byte_rate": 1}}


# --- finding


def exact(kind: str, name: str) -> Component:
    return Component(kind, Match.EXACT.value, name)


@pytest.mark.parametrize(
    ("components", "strict", "expected"),
    [
        ([exact("user", "alice")], False, {"user=alice", "client-id=app,user=alice"}),
        ([exact("user", "alice")], True, {"user=alice"}),
        ([exact("user", "alice"), exact("client-id", "app")], True, {"client-id=app,user=alice"}),
        ([Component("user", 2, None)], False, {"user=alice", "client-id=app,user=alice", "client-id=None,user=None"}),
        ([Component("user", 2, None)], True, {"user=alice"}),
        ([Component("user", 1, None)], False, {"client-id=None,user=None"}),
        ([Component("user", 1, None)], True, set()),
        ([Component("user", 2, None), Component("client-id", 1, None)], True, {"client-id=None,user=None"}),
        ([Component("client-id", 2, None)], True, {"client-id=app"}),
        ([Component("ip", 2, None)], False, {"ip=127.0.0.1", "ip=None"}),
        ([Component("ip", 1, None)], True, {"ip=None"}),
        ([exact("user", "nobody")], False, set()),
        ([], True, set()),
    ],
)
def test_found_by(set_up: Any, components: list[Component], strict: bool, expected: set[str]) -> None:
    assert set(found(set_up, *components, strict=strict)) == expected


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([exact("", "alice")], ErrorCode.INVALID_REQUEST),
        ([exact("group", "g")], ErrorCode.UNSUPPORTED_VERSION),
        ([exact("user", "alice"), Component("user", 2, None)], ErrorCode.INVALID_REQUEST),
        ([Component("user", 0, None)], ErrorCode.INVALID_REQUEST),
        ([Component("user", 1, "alice")], ErrorCode.INVALID_REQUEST),
        ([Component("user", 2, "alice")], ErrorCode.INVALID_REQUEST),
        ([Component("user", 3, None)], ErrorCode.INVALID_REQUEST),
        ([Component("user", -1, "alice")], ErrorCode.INVALID_REQUEST),
        ([exact("ip", "::1"), exact("user", "alice")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_filters_that_make_no_sense(set_up: Any, components: list[Component], code: ErrorCode) -> None:
    with pytest.raises(BrokerError) as refused:
        quotas.find(set_up.image, components, strict=False)
    assert refused.value.code is code
