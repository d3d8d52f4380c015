"""`odradek serve`: a broker, until it is told to stop."""

import argparse
import asyncio
import logging
import signal
import socket
import sys

from odradek.cli import attached as attached_to
from odradek.cli.main import EXIT_FAILED
from odradek.model.broker_config import BrokerConfig, SecurityProtocol
from odradek.model.broker_config.addresses import ANY_HOST
from odradek.model.errors import DirectoryInUse, InvalidConfig, NodeFailed, OdradekError
from odradek.process.log_lines import JsonFormat, LineFormat
from odradek.process.stalls import StallMeter
from odradek.server.config import load
from odradek.server.node import Node
from odradek.server.node_setting import Listening, NodeSetting

EXIT_USAGE = 2

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="a server.properties, with the names of Kafka's settings")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="a log directory; may be repeated")
    parser.add_argument("--listen", metavar="HOST:PORT", help="where clients connect (default 127.0.0.1:9092)")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="one setting; may be repeated")
    parser.add_argument("--ignore-acls", action="store_true", help="start on metadata with ACLs, and enforce none")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="of the lines on standard error")
    parser.add_argument(
        "--attached",
        action="store_true",
        help="print the address when it serves, and stop when standard input, a pipe, ends",
    )
    parser.set_defaults(handler=serve)


def serve(options: argparse.Namespace) -> int:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormat() if options.log_format == "json" else LineFormat())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        config = load(options.config, options.set, options.data, options.listen)
        setting = _setting(config, ignore_acls=options.ignore_acls)
        if options.attached:
            attached_to.check()
        _run(setting, attached=options.attached)
    except (InvalidConfig, DirectoryInUse) as error:
        return _complain(error, EXIT_USAGE)
    except OdradekError as error:
        return _complain(error, EXIT_FAILED)
    return 0


def _complain(error: OdradekError, status: int) -> int:
    sys.stderr.write(f"odradek: {error}\n")
    return status


def _setting(config: BrokerConfig, *, ignore_acls: bool) -> NodeSetting:
    secured = [each.name for each in config.broker_endpoints if each.protocol is not SecurityProtocol.PLAINTEXT]
    if secured:
        raise InvalidConfig(f"listeners: {secured[0]} is not of the protocol PLAINTEXT, which is all there is so far")
    return NodeSetting(
        directories=list(config.data_dirs),
        metadata_directory=config.metadata_dir,
        listeners=_listening(config),
        node_id=config.node_id,
        config=config,
        topic_defaults=config.topic_defaults,
        partitions=config.num_partitions,
        ignore_acls=ignore_acls,
    )


def _listening(config: BrokerConfig) -> tuple[Listening, ...]:
    """Each listener for clients, and what its clients are told."""
    told = {each.name: (each.host or socket.getfqdn(), each.port) for each in config.advertised_endpoints}
    has_told = config.advertised_listeners is not None
    return tuple(
        Listening(each.host or ANY_HOST, each.port, told.get(each.name) if has_told else None, each.name)
        for each in config.broker_endpoints
    )


def _run(setting: NodeSetting, *, attached: bool) -> None:
    if sys.platform == "win32":
        asyncio.run(_serve(setting, attached=attached))
    else:
        import uvloop

        uvloop.run(_serve(setting, attached=attached))


async def _serve(setting: NodeSetting, *, attached: bool) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if attached:
        attached_to.watch(stop)
    meter = StallMeter(loop)
    node = await Node.start(setting, when_failed=stop.set)
    try:
        address = "{}:{}".format(*node.address)
        logger.info("serving", extra={"address": address, "data": ",".join(setting.directories)})
        if attached:
            print(address, flush=True)
        meter.start()
        await stop.wait()
    finally:
        meter.stop()
        await node.stop()
    if node.failure is not None:
        raise NodeFailed(node.failure)
    logger.info("stopped")
