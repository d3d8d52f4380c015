from pathlib import Path

import pytest

from odradek.model.broker_config import BROKER_KEYS, BrokerConfig
from odradek.model.errors import InvalidConfig
from odradek.server.config import ALONE, WITHOUT_FILE, load

INTERNALS = Path(__file__).parents[3] / "docs" / "internals" / "model.md"

COMBINED = """\
# A node that is broker and controller, and whole cluster.
process.roles=broker,controller
node.id=5
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,\\
    SSL:SSL
log.dirs=/var/lib/kafka
num.partitions=3
offsets.topic.replication.factor=2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(COMBINED)
    return path


def complaint(*arguments: object, **options: object) -> str:
    with pytest.raises(InvalidConfig) as refused:
        load(*arguments, **options)  # type: ignore[arg-type]
    return str(refused.value)


def test_a_node_needs_no_file() -> None:
    config = load()
    assert config.node_id == 1
    assert config.process_roles == ("broker", "controller")
    assert config.is_alone
    assert [str(endpoint) for endpoint in config.advertised_endpoints] == ["PLAINTEXT://127.0.0.1:9092"]
    assert config.controller_endpoints == ()
    assert config.data_dirs == ("odradek-data",)
    assert config.offsets_topic_replication_factor == 1
    assert config.transaction_state_log_replication_factor == 1
    assert config.transaction_state_log_min_isr == 1


def test_options_go_over_defaults() -> None:
    config = load(None, ["node.id=7", "num.partitions = 4"], ["/a", "/b"], "[::1]:1234")
    assert config.node_id == 7
    assert config.num_partitions == 4
    assert config.data_dirs == ("/a", "/b")
    assert [str(endpoint) for endpoint in config.endpoints] == ["PLAINTEXT://[::1]:1234"]


def test_our_defaults_differ_from_those_of_kafka_and_are_written_down() -> None:
    table = INTERNALS.read_text()
    for name, text in {**WITHOUT_FILE, **ALONE}.items():
        assert BROKER_KEYS[name].parse(text) != BROKER_KEYS[name].default
        assert f"| `{name}` | `{text}` |" in table


def test_a_file_is_read(file: Path) -> None:
    config = load(str(file))
    assert config.node_id == 5
    assert config.num_partitions == 3
    assert [str(endpoint) for endpoint in config.endpoints] == ["PLAINTEXT://:9092", "CONTROLLER://:9093"]
    assert config.data_dirs == ("/var/lib/kafka",)


def test_with_a_file_only_what_one_node_cannot_do_is_ours(file: Path) -> None:
    config = load(str(file))
    assert config.offsets_topic_replication_factor == 2
    assert config.transaction_state_log_replication_factor == 1
    several = load(str(file), ["controller.quorum.bootstrap.servers=localhost:9093,other:9093"])
    assert several.transaction_state_log_replication_factor == 3


def test_options_go_over_the_file(file: Path) -> None:
    config = load(str(file), ["num.partitions=9", "num.partitions=10"], ["/data"], ":19092")
    assert config.num_partitions == 10
    assert config.data_dirs == ("/data",)
    assert [str(endpoint) for endpoint in config.endpoints] == ["PLAINTEXT://:19092", "CONTROLLER://:9093"]
    assert [str(endpoint) for endpoint in config.advertised_endpoints] == ["PLAINTEXT://localhost:9092"]


def test_the_last_of_several_wins(file: Path) -> None:
    file.write_text(COMBINED + "num.partitions=1\nnum.partitions=2\n")
    assert load(str(file)).num_partitions == 2


def test_a_mistake_is_told_with_file_and_line(file: Path) -> None:
    file.write_text(COMBINED + "num.partitions=0\n")
    assert (
        complaint(str(file)) == f"{file}, line 14: Invalid value 0 for configuration num.partitions: must be at least 1"
    )
    file.write_text(COMBINED + "num.partition=1\n")
    assert (
        complaint(str(file))
        == f"{file}, line 14: brokers have no setting 'num.partition', did you mean num.partitions?"
    )
    file.write_text(COMBINED + "x=\\u00\n")
    assert complaint(str(file)).startswith(f"{file}, line 14: \\u00 must be")
    file.write_bytes(COMBINED.encode() + b"x=\xff\n")
    assert complaint(str(file)) == f"{file}, line 14: not text in UTF-8"


def test_a_contradiction_is_told_with_the_file(file: Path) -> None:
    file.write_text(COMBINED + "broker.id=6\n")
    assert complaint(str(file)) == f"{file}: node.id is 5 and broker.id 6: they must be the same"
    file.write_text("node.id=1\n")
    assert complaint(str(file)) == f"{file}: controller.listener.names must be given"


def test_a_mistake_in_an_option_is_told_with_the_option(file: Path) -> None:
    assert complaint(None, ["num.partitions"]) == "--set 'num.partitions': must be NAME=VALUE"
    assert complaint(None, ["=1"]) == "--set '=1': must be NAME=VALUE"
    assert complaint(None, ["num.partitions=x"]).startswith("--set num.partitions: Invalid value x for")
    assert complaint(None, (), ["a,b"]).startswith("--data 'a,b': ")
    assert complaint(None, (), [""]).startswith("--data '': ")
    assert complaint(None, (), (), "9092") == "--listen 9092: '9092' must be host:port"
    assert complaint(None, (), (), ":99999").startswith("--listen :99999: ")
    file.write_text("listeners=C://:1\ncontroller.listener.names=c\n")
    assert complaint(str(file), (), (), ":1") == "--listen :1: listeners has none for clients"


def test_a_password_is_not_in_the_message() -> None:
    assert "s3cret" not in complaint(None, ["ssl.key.pasword=s3cret"])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        load(str(tmp_path / "none"))
    assert missing.value.filename == str(tmp_path / "none")


def test_what_was_loaded_can_be_loaded_again(file: Path) -> None:
    config = load(str(file))
    assert BrokerConfig.parse(config.given) == config
