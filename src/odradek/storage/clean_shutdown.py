"""`.kafka_cleanshutdown` in each log directory: left behind by a proper stop, removed at the next start.

JSON, `{"version":0,"brokerEpoch":7}`, with the epoch of the broker's registration, or -1.
"""

import json


def pack(broker_epoch: int) -> bytes:
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()


def parse(data: bytes) -> int:
    """The broker epoch; -1 where it is not known. The file's presence alone says that the stop was clean."""
    try:
        fields = json.loads(data)
        return int(fields["brokerEpoch"]) if fields["version"] == 0 else -1
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return -1
