"""The server.properties with which Apache Kafka runs a node of one, on the directories that are there."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.cli.handover.node import Node
from odradek.model.address import Address
from odradek.model.broker_config.addresses import SecurityProtocol

_PORT = 9092
_CONTROLLER = "CONTROLLER"
_TOPICS = {
    "__consumer_offsets": "offsets.topic.num.partitions",
    "__transaction_state": "transaction.state.log.num.partitions",
    "__share_group_state": "share.coordinator.state.topic.num.partitions",
}
_OF_ONE_NODE = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
)


class ListenerSetting(NamedTuple):
    name: str
    address: Address
    protocol: SecurityProtocol

    def __str__(self) -> str:
        return f"{self.name}://{self.address}"


class Addresses(NamedTuple):
    """Where Kafka is to listen, if not where the node did."""

    clients: Address | None = None
    controller: Address | None = None


def server_properties(node: Node, wanted: Addresses) -> Iterator[str]:
    """The lines of the file."""
    for name, value in settings(node, wanted).items():
        yield f"{name}={_escape(value)}"


def settings(node: Node, wanted: Addresses) -> dict[str, str]:
    listeners = _listeners(node, wanted.clients)
    controller = (
        wanted.controller or _controller(node) or Address(listeners[0].address.host, listeners[0].address.port + 1)
    )
    protocols = {each.name: each.protocol.name for each in listeners} | {_CONTROLLER: "PLAINTEXT"}
    given = {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "listeners": ",".join((*map(str, listeners), f"{_CONTROLLER}://{controller}")),
        "advertised.listeners": ",".join(map(str, listeners)),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": listeners[0].name,
        "controller.listener.names": _CONTROLLER,
    }
    if node.metadata.image.voters.kraft_version:
        given["controller.quorum.bootstrap.servers"] = str(controller)
    else:
        given["controller.quorum.voters"] = f"{node.id}@{controller}"
    given["log.dirs"] = ",".join(each.path for each in node.log_dirs)
    given["metadata.log.dir"] = node.metadata_directory.path
    given |= dict.fromkeys(_OF_ONE_NODE, "1")
    for topic, setting in _TOPICS.items():
        found = node.metadata.image.topics.get(topic)
        if found is not None:
            given[setting] = str(len(found.partitions))
    return given


def _listeners(node: Node, wanted: Address | None) -> list[ListenerSetting]:
    """Where clients know the node, so that they find Kafka there."""
    broker = node.metadata.image.brokers.get(node.id)
    if wanted is None and broker is not None and broker.endpoints:
        return [
            ListenerSetting(name, Address(each.host, each.port or _PORT), SecurityProtocol(each.security_protocol))
            for name, each in broker.endpoints.items()
        ]
    return [ListenerSetting("PLAINTEXT", wanted or Address("127.0.0.1", _PORT), SecurityProtocol.PLAINTEXT)]


def _controller(node: Node) -> Address | None:
    """As the log has it, where the voters are kept there."""
    record = node.metadata.image.voters.record
    for voter in () if record is None else record.voters:
        if voter.voter_id == node.id and voter.endpoints:
            return Address(voter.endpoints[0].host, voter.endpoints[0].port)
    return None


def _escape(value: str) -> str:
    """As Java reads such files: in Latin 1, with backslashes that mean something."""
    units = value.replace("\\", "\\\\").encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)
