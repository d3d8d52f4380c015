"""What a listener takes from the settings of its node."""

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.server.admission import Listeners, admission_of, connections_within


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
            "max.connections.per.ip.overrides": "127.0.0.1:3",
            "connections.max.idle.ms": "1000",
        }
    )
    admission = admission_of(config, 100, Listeners(("PLAINTEXT",), config.given))
    assert (admission.connections_max, admission.per_ip_max, admission.idle_ms_max) == (7, 5, 1000)
    assert admission.per_ip_overrides == {"127.0.0.1": 3}
    assert admission_of(config, 4, Listeners(("PLAINTEXT",), config.given)).connections_max == 4


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
    admission = admission_of(BrokerConfig(given=given, **values), 100, Listeners((), given))
    assert (admission.send_buffer_bytes, admission.receive_buffer_bytes) == expected


def test_segments_have_their_share_of_the_handles() -> None:
    assert connections_within(handles=1024, files=512) == 1024 - 512 - 64
    assert connections_within(handles=64, files=32) == 8
