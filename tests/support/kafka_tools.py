"""Apache Kafka's command-line tools, and its consumers, in one process of Java's.

To start one for each of them takes longer than what they do. It is `KafkaTools.java` of the interop tests.
"""

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.apache_kafka import ApacheKafka, Ended


class KafkaTools:
    """Made by `kafka_tools`. It answers line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self.errors: list[str] = []
        """Names of errors that the last tool has logged: many tell people no more than what the broker says of them."""

    def run(self, main_class: str, *arguments: str, given: str = "") -> Ended:
        """As `ApacheKafka.run`, but what the tool logs is not in its standard error. `given` is its standard input."""
        answer = self.ask("run", **{"class": main_class, "arguments": arguments, "given": given})
        entries = re.split(r"^(?=\[)", answer["logged"], flags=re.MULTILINE)
        told = "".join(entry for entry in entries if "] ERROR " in entry)
        self.errors = sorted(set(re.findall(r"org\.apache\.kafka\.common\.errors\.(\w+)", told)))
        return Ended(answer["status"], answer["out"], answer["err"])

    def ask(self, what: str, **fields: Any) -> dict[str, Any]:
        self._stdin.write(json.dumps({"do": what, **fields}) + "\n")
        self._stdin.flush()
        line = self._stdout.readline()
        assert line, "the tools ended; their standard error says why"
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextlib.contextmanager
def kafka_tools(kafka: ApacheKafka, classes: Path) -> Iterator[KafkaTools]:
    """Until the block is left. `classes` has the program, compiled."""
    command = kafka.command("KafkaTools", classes=[classes])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield KafkaTools(process)
        assert process.stdin is not None
        process.stdin.close()
