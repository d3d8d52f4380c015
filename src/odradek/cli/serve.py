"""`odradek serve`: a broker, until it is told to stop."""

import argparse
import asyncio
import logging
import signal
import sys

from odradek.cli.main import EXIT_FAILED
from odradek.model.broker_config import BrokerConfig, SecurityProtocol
from odradek.model.errors import DirectoryInUse, InvalidConfig, OdradekError
from odradek.server.config import load
from odradek.server.log_lines import JsonFormat, LineFormat
from odradek.server.node import Node, NodeSetting

EXIT_USAGE = 2

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="a server.properties, with the names of Kafka's settings")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="a log directory; may be repeated")
    parser.add_argument("--listen", metavar="HOST:PORT", help="where clients connect (default 127.0.0.1:9092)")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="one setting; may be repeated")
    parser.add_argument("--ignore-acls", action="store_true", help="start on metadata with ACLs, and enforce none")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="of the lines on standard error")
    parser.set_defaults(handler=serve)


def serve(options: argparse.Namespace) -> int:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormat() if options.log_format == "json" else LineFormat())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        config = load(options.config, options.set, options.data, options.listen)
        setting = _setting(config, ignore_acls=options.ignore_acls)
        _run(setting)
    except (InvalidConfig, DirectoryInUse) as error:
        return _complain(error, EXIT_USAGE)
    except OdradekError as error:
        return _complain(error, EXIT_FAILED)
    return 0


def _complain(error: OdradekError, status: int) -> int:
    sys.stderr.write(f"odradek: {error}\n")
    return status


def _setting(config: BrokerConfig, *, ignore_acls: bool) -> NodeSetting:
    endpoints = config.broker_endpoints
    if len(endpoints) != 1 or endpoints[0].protocol is not SecurityProtocol.PLAINTEXT:
        raise InvalidConfig("listeners: one listener for clients, of the protocol PLAINTEXT, is all there is so far")
    advertised = config.advertised_endpoints[0] if config.advertised_listeners else None
    return NodeSetting(
        directories=list(config.data_dirs),
        host=endpoints[0].host or "0.0.0.0",
        port=endpoints[0].port,
        advertised=(advertised.host, advertised.port) if advertised else None,
        node_id=config.node_id,
        config=config,
        topic_defaults=config.topic_defaults,
        partitions=config.num_partitions,
        ignore_acls=ignore_acls,
    )


def _run(setting: NodeSetting) -> None:
    if sys.platform == "win32":
        asyncio.run(_serve(setting))
    else:
        import uvloop

        uvloop.run(_serve(setting))


async def _serve(setting: NodeSetting) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    node = await Node.start(setting)
    host, port = node.address
    logger.info("serving", extra={"address": f"{host}:{port}", "data": ",".join(setting.directories)})
    try:
        await stop.wait()
    finally:
        await node.stop()
    logger.info("stopped")
