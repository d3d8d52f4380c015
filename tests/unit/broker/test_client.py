"""Who is at the other end of a connection."""

from typing import Any, cast

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.handlers.api_versions import ApiVersions
from odradek.wire.messages.api_versions import ApiVersionsRequest
from support.connections import client_at


def test_a_client_has_the_names_that_kafka_has_for_it() -> None:
    client = client_at("10.0.0.7", 4711)
    assert (client.listener, str(client.principal), client.host) == ("PLAINTEXT", "User:ANONYMOUS", "10.0.0.7")
    assert (client.software_name, client.software_version) == ("unknown", "unknown")
    assert str(client.address) == "10.0.0.7:4711"
    assert Call(client, cast("Any", None), 0, 0, 1, "reader").user == "ANONYMOUS"


def test_what_a_client_says_of_itself_is_kept_and_nothing_else_is_lost() -> None:
    client = client_at()
    handler = ApiVersions({}, Broker(1, "cluster", cast("Any", None)))
    grant = client.grant
    for name, expected in (("librdkafka", "librdkafka"), ("not a name!", "librdkafka")):
        request = ApiVersionsRequest(client_software_name=name, client_software_version="2.14.0")
        handler.handle(Call(client, cast("Any", None), 18, 3, 1, "reader"), request)
        assert (client.software_name, client.software_version) == (expected, "2.14.0")
    assert client.grant is grant
