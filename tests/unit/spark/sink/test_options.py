"""Options of the sink: what is taken, and what is said of what is not."""

import pytest

from odradek.records.batch import Codec
from odradek.spark.given_options import InvalidOption
from odradek.spark.sink.options import SinkOptions, sink_options

NEEDED = {"kafka.bootstrap.servers": "localhost:9092", "topic": "orders"}
ONCE = {**NEEDED, "exactlyOnce": "true"}


def read(options: dict[str, str], *, streaming: bool = False) -> SinkOptions:
    return sink_options(options, streaming=streaming)


def test_defaults() -> None:
    options = read(NEEDED)
    assert (options.topic, options.acks, options.codec, options.once) == ("orders", -1, Codec.NONE, None)
    assert (options.batch_bytes_max, options.request_bytes_max) == (512 << 10, 1 << 20)
    assert options.creates_topics
    assert not read({**NEEDED, "kafka.allow.auto.create.topics": "false"}).creates_topics


def test_names_are_taken_in_any_case() -> None:
    options = read({name.lower(): value for name, value in ONCE.items()} | {"TRANSACTIONALIDPREFIX": "mine"})
    assert options.once is not None
    assert options.once.prefix == "mine"


def test_what_the_connector_takes_is_taken() -> None:
    options = read(
        {
            **NEEDED,
            "kafka.acks": "1",
            "kafka.compression.type": "ZSTD",
            "kafka.compression.zstd.level": "5",
            "kafka.compression.gzip.level": "1",
            "kafka.linger.ms": "5",
            "kafka.batch.size": "16384",
            "kafka.delivery.timeout.ms": "5000",
            "includeHeaders": "true",
        }
    )
    assert (options.acks, options.codec, options.level) == (1, Codec.ZSTD, 5)
    assert (options.batch_bytes_max, options.delivery_timeout_s) == (16384, 5.0)


def test_exactly_once_keeps_its_markers_at_the_topic() -> None:
    once = read(ONCE).once
    assert once is not None
    assert (once.prefix, once.marker_topic, once.app_id) == ("odradek-spark-sink", "orders", None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "option kafka.bootstrap.servers: it is missing"),
        ({"kafka.bootstrap.servers": "localhost"}, "option kafka.bootstrap.servers"),
        ({**NEEDED, "kafka.sasl.mechanism": "PLAIN"}, "option kafka.sasl.mechanism: TLS and SASL are not there yet"),
        ({**NEEDED, "kafka.security.protocol": "SSL"}, "option kafka.security.protocol: 'SSL' is not there yet"),
        ({**NEEDED, "kafka.compression.type": "brotli"}, "it is one of none, gzip, snappy, lz4, zstd"),
        ({**NEEDED, "kafka.batch.size": "many"}, "option kafka.batch.size: 'many' does not do"),
        (
            {**NEEDED, "exactlyOnce": "true", "kafka.transaction.timeout.ms": "3000000000"},
            "option kafka.transaction.timeout.ms: '3000000000' does not do; give a whole number from 1 to 2147483647",
        ),
        ({**NEEDED, "kafka.transactional.id": "a"}, "option kafka.transactional.id: it is not taken; set exactlyOnce"),
        ({**NEEDED, "path": "a"}, "option path: it is not taken"),
        ({**NEEDED, "exactlyOnce": "yes"}, "it is one of true, false"),
        ({**NEEDED, "txnAppId": "a"}, "option txnAppId: it has no effect without exactlyOnce"),
        ({**ONCE, "txnAppId": "a"}, "option txnVersion: it is missing"),
        ({**ONCE, "txnVersion": "1"}, "option txnAppId: it is missing"),
        ({**ONCE, "kafka.acks": "1"}, "option kafka.acks: exactlyOnce needs all"),
        ({**ONCE, "markerTopic": "a b"}, "option markerTopic: 'a b' is no name of a topic"),
        ({"kafka.bootstrap.servers": "h:1", "exactlyOnce": "true"}, "option markerTopic: it is missing"),
    ],
)
def test_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        read(options)


@pytest.mark.parametrize("given", [{"txnAppId": "a", "txnVersion": "1"}, {"txnAppId": "a"}, {"txnVersion": "1"}])
def test_a_stream_has_its_own_name(given: dict[str, str]) -> None:
    said = f"option {min(given)}: a stream is known by its query and the number of its batch; leave it out"
    with pytest.raises(InvalidOption, match=said):
        read({**ONCE, **given}, streaming=True)
