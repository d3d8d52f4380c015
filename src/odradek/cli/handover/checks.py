"""What could keep Apache Kafka from taking a node's directories over, or surprise whoever lets it."""

from collections.abc import Iterator, Sequence

from odradek.cli.handover.node import Directory, Node
from odradek.cli.quantities import count, size
from odradek.metadata.features import SUPPORTED
from odradek.metadata.image import ResourceType
from odradek.metadata.uuids import to_text
from odradek.model.errors import InvalidConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Files
from odradek.storage import names
from odradek.storage.verify import Finding, Severity

_MIN_INSYNC = "min.insync.replicas"
_SHOWN_MAX = 10


def _error(path: str, text: str) -> Finding:
    return Finding(Severity.ERROR, path, text)


def _warning(path: str, text: str) -> Finding:
    return Finding(Severity.WARNING, path, text)


def _note(path: str, text: str) -> Finding:
    return Finding(Severity.NOTE, path, text)


def check_directories(files: Files, directories: Sequence[Directory]) -> Iterator[Finding]:
    """Each by itself, and that one has the metadata log."""
    for each in directories:
        if each.is_in_use:
            yield _error(each.path, "a broker has it open: stop it first")
        if each.meta is None:
            yield _error(
                each.path, f"has no {names.META_PROPERTIES} that can be read, without which Kafka does not start"
            )
        if "," in each.path:
            yield _error(each.path, "has a comma in its name, which log.dirs cannot have")
        if not each.is_clean and not each.is_in_use:
            yield from _check_recovery(files, each)
    with_metadata = [each.path for each in directories if each.has_metadata]
    if not with_metadata:
        yield _error(directories[0].path, "no directory has the metadata log, __cluster_metadata-0: name that one, too")
    for path in with_metadata[1:]:
        yield _error(path, f"has a metadata log, and so has {with_metadata[0]}")


def _check_recovery(files: Files, directory: Directory) -> Iterator[Finding]:
    """What Kafka reads again when it starts: of each log the segments from the recovery point on."""
    partitions = bytes_again = 0
    for partition in directory.topic_ids:
        if partition.topic == names.METADATA_TOPIC:
            continue
        listed = (
            (names.parse_file_name(entry.name), entry.size) for entry in files.list(f"{directory.path}/{partition}")
        )
        logs = sorted((name[0], length) for name, length in listed if name and name[1] == names.LOG)
        point = directory.recovery_points.get(partition, 0)
        ends = [base for base, _ in logs[1:]]
        again = [length for (_, length), end in zip(logs, [*ends, None], strict=False) if end is None or end > point]
        partitions += any(again)
        bytes_again += sum(again)
    text = f"Kafka reads {size(bytes_again)} of {count(partitions, 'partition')} again when it starts"
    yield _note(directory.path, f"was not stopped properly: {text}")


def check_node(node: Node) -> Iterator[Finding]:
    """The metadata by itself, and against the directories."""
    yield from _check_features(node)
    yield from _check_voters(node)
    yield from _check_registration(node)
    yield from _check_for_strays(node)
    yield from _check_min_insync(node)
    yield from _check_security(node)


def _check_features(node: Node) -> Iterator[Finding]:
    for name, level in node.metadata.image.features.items():
        known = SUPPORTED.get(name)
        if known is None:
            yield _error(_metadata_path(node), f"the feature {name} is not known to Kafka 4.3")
        elif level and not known.least <= level <= known.most:
            text = f"{name} is at {level}, and Kafka 4.3 knows {known.least} to {known.most}"
            yield _error(_metadata_path(node), text)


def _check_voters(node: Node) -> Iterator[Finding]:
    try:
        node.metadata.image.voters.check(node.id, node.metadata.static_voters)
    except InvalidConfig as error:
        yield _error(_metadata_path(node), str(error))


def _check_registration(node: Node) -> Iterator[Finding]:
    broker = node.metadata.image.brokers.get(node.id)
    named = {each.id for each in node.directories}
    missing = [each for each in (() if broker is None else broker.directories) if each not in named]
    for directory_id in missing:
        text = f"node {node.id} has a log directory {to_text(directory_id)} that was not named"
        yield _error(_metadata_path(node), text)
    if not missing:
        yield from _check_for_missing(node)
    others = sorted(each for each in node.metadata.image.brokers if each != node.id)
    if others:
        text = f"there are more brokers in the cluster ({', '.join(map(str, others))}): this is the hand-over of one"
        yield _warning(_metadata_path(node), text)


def _check_for_missing(node: Node) -> Iterator[Finding]:
    """Partitions without a log. A broker that was killed may have left one that is so new that it has none."""
    there = {partition for directory in node.directories for partition in directory.topic_ids}
    for topic in node.metadata.image.topics:
        missing = [
            number
            for number, partition in sorted(topic.partitions.items())
            if node.id in partition.replicas and TopicPartition(topic.name, number) not in there
        ]
        if missing:
            shown = ", ".join(map(str, missing[:_SHOWN_MAX])) + (", ..." if len(missing) > _SHOWN_MAX else "")
            text = (
                f"{topic.name}: no log for {count(len(missing), 'partition')} ({shown}); Kafka begins with empty ones"
            )
            yield _warning(_metadata_path(node), text)


def _check_for_strays(node: Node) -> Iterator[Finding]:
    """Logs that are of no partition, by the name and the id of their topic."""
    topics = node.metadata.image.topics
    for directory in node.directories:
        for partition, topic_id in sorted(directory.topic_ids.items()):
            if partition.topic == names.METADATA_TOPIC:
                continue
            topic = topics.get(partition.topic)
            path = f"{directory.path}/{partition}"
            if topic is None or partition.partition not in topic.partitions:
                yield _warning(path, "no topic of the cluster has this partition; Kafka sets it aside as a stray")
            elif topic_id is not None and topic_id != to_text(topic.id):
                text = f"is of another topic of the same name ({topic_id}); Kafka sets it aside as a stray"
                yield _warning(path, text)


def _check_min_insync(node: Node) -> Iterator[Finding]:
    configs = node.metadata.image.configs
    default = configs.of(ResourceType.BROKER, "").get(_MIN_INSYNC, "1")
    for topic in node.metadata.image.topics:
        wanted = configs.of(ResourceType.TOPIC, topic.name).get(_MIN_INSYNC, default)
        replicas = min((len(each.replicas) for each in topic.partitions.values()), default=0)
        if wanted.isdecimal() and int(wanted) > replicas:
            text = f"{topic.name}: {_MIN_INSYNC} is {wanted}, with {count(replicas, 'replica')}: acks=all is refused"
            yield _warning(_metadata_path(node), text)


def _check_security(node: Node) -> Iterator[Finding]:
    image = node.metadata.image
    if image.acls:
        text = (
            f"{count(len(image.acls), 'ACL')} count only with authorizer.class.name and super.users, which are not set"
        )
        yield _warning(_metadata_path(node), text)
    if image.scram:
        text = f"{count(len(image.scram), 'SCRAM credential')} serve only listeners with SASL"
        yield _note(_metadata_path(node), text)


def _metadata_path(node: Node) -> str:
    return f"{node.metadata_directory.path}/{names.METADATA_TOPIC}-0"
