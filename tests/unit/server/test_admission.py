"""What a listener takes from the settings of its node."""

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.server.admission import (
    ListenerSettings,
    admission_of,
    connections_within,
    creation_rates_of,
    listen_options_of,
)


def test_limits_on_connections_are_those_of_the_settings() -> None:
    config = BrokerConfig.parse(
        {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.quorum.voters": "1@127.0.0.1:9093",
            "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
            "controller.listener.names": "CONTROLLER",
            "max.connections": "7",
            "max.connections.per.ip": "5",
            "connections.max.idle.ms": "1000",
        }
    )
    admission = admission_of(config, 100, ListenerSettings(("PLAINTEXT",), config.given))
    assert (admission.connections_max, admission.per_ip_max, admission.idle_ms_max) == (7, 5, 1000)
    assert admission_of(config, 4, ListenerSettings(("PLAINTEXT",), config.given)).connections_max == 4


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (-1, -1)),
        ({"socket.send.buffer.bytes": "102400"}, (102_400, -1)),
        ({"socket.receive.buffer.bytes": "65536"}, (-1, 65_536)),
        ({"socket.send.buffer.bytes": "-1"}, (-1, -1)),
    ],
)
def test_buffers_are_left_to_the_system_unless_somebody_set_them(
    given: dict[str, str], expected: tuple[int, int]
) -> None:
    values = {name.replace(".", "_"): int(value) for name, value in given.items()}
    options = listen_options_of(BrokerConfig(given=given, **values))
    assert (options.send_buffer_bytes, options.receive_buffer_bytes) == expected


def test_segments_have_their_share_of_the_handles() -> None:
    assert connections_within(handles=1024, files=512) == 1024 - 512 - 64
    assert connections_within(handles=64, files=32) == 8


def test_a_listener_has_its_own_bounds_or_else_those_of_the_broker() -> None:
    config = BrokerConfig(max_connections=70, max_connection_creation_rate=7)
    texts = {
        "listener.name.inside.max.connections": "5",
        "listener.name.outside.max.connection.creation.rate": "3",
        "listener.name.odd.max.connections": "what another node took",
    }
    listeners = ListenerSettings(("INSIDE", "OUTSIDE", "ODD"), texts)
    assert admission_of(config, 100, listeners).per_listener_max == {"INSIDE": 5, "OUTSIDE": 70, "ODD": 70}
    rates = creation_rates_of(config, listeners)
    assert (rates.broker, rates.listeners) == (7, {"INSIDE": 7, "OUTSIDE": 3, "ODD": 7})


def test_the_listener_of_brokers_is_protected_where_clients_have_another() -> None:
    config = BrokerConfig(inter_broker_listener_name="INSIDE")
    both, alone, others = (ListenerSettings(names, {}) for names in (("INSIDE", "OUTSIDE"), ("INSIDE",), ("A", "B")))
    assert [admission_of(config, 100, each).protected for each in (both, alone, others)] == ["INSIDE", None, None]
    assert creation_rates_of(config, both).protected == "INSIDE"
