"""For tests of programs that use Kafka: a real broker, started within a test and gone after it.

    with odradek.testing.running_broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})

The same as pytest fixtures is in `plugin`. The other modules are fakes for this project's own tests.
"""

from odradek.testing.broker import BrokerFailed, RunningBroker, running_broker

__all__ = ["BrokerFailed", "RunningBroker", "running_broker"]
