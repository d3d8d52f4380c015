"""The settings of a node, as Kafka 4.3 has them: a file for each theme, and `BrokerConfig`, which is all of them."""

from odradek.model.address import Address
from odradek.model.broker_config.addresses import Endpoint, SecurityProtocol, Voter
from odradek.model.broker_config.checks import check_live
from odradek.model.broker_config.config import BROKER_KEYS, BrokerConfig, parse_setting, topic_defaults
from odradek.model.broker_config.quotas import THROTTLES

__all__ = [
    "BROKER_KEYS",
    "THROTTLES",
    "Address",
    "BrokerConfig",
    "Endpoint",
    "SecurityProtocol",
    "Voter",
    "check_live",
    "parse_setting",
    "topic_defaults",
]
