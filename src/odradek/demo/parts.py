"""All that runs in a demo: the processes, the writer, the topics. Whatever was started is stopped together."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from odradek.client.errors import ClientError
from odradek.demo.children import Child, python_command
from odradek.demo.jobs_setting import JobsSetting, spark_configs
from odradek.demo.reading import ProgressReader
from odradek.demo.scenario import EVENTS_PER_SECOND, Scenario, result_topics
from odradek.demo.topics import NoTopic, Topics
from odradek.demo.workplace import Workplace
from odradek.demo.writing import NotWritten, Writer

# All of it within ten seconds: the jobs need the topics to end, and the topics need the broker.
_JOBS_END_S = 6.0
_WRITER_END_S = 0.5
_BROKER_END_S = 2.0


@dataclass(frozen=True, slots=True)
class DemoSetting:
    """Without `bootstrap`, a broker is started; with `seconds`, the demo ends by itself and checks the results."""

    java_home: Path
    bootstrap: str | None = None
    master: str = "local[2]"
    events_per_second: int = EVENTS_PER_SECOND
    seconds: float | None = None
    keep: Path | None = None
    has_page: bool = True
    opens_browser: bool = True


class Parts:
    def __init__(self, setting: DemoSetting, place: Workplace) -> None:
        self.scenario = Scenario(setting.events_per_second)
        self._setting, self._place = setting, place
        self._environ = {**os.environ, "TMPDIR": str(place.scratch), "JAVA_HOME": str(setting.java_home)}
        self.broker: Child | None = None
        self.jobs: Child | None = None
        self.page: Child | None = None
        self.writer: Writer | None = None
        self.reader: ProgressReader | None = None
        self._topics: Topics | None = None

    def start_broker(self) -> Child:
        arguments = ("--attached", "--data", str(self._place.data), "--listen", "127.0.0.1:0")
        self.broker = self._child("the broker", "broker.log", "odradek", "serve", *arguments)
        return self.broker

    def make_topics(self, bootstrap: str) -> int:
        """How many. Raises TopicsInTheWay, NoTopic, ClientError."""
        topics = [*self.scenario.topics(), *result_topics()]
        self._topics = Topics(bootstrap)
        self._topics.make(topics)
        return len(topics)

    def start_rest(self, bootstrap: str) -> None:
        """What needs topics: Spark, the page, and the writer, which begins with the history."""
        master = self._setting.master
        configs = spark_configs(self._place.scratch, master, self._setting.events_per_second)
        jobs = JobsSetting(bootstrap, str(self._place.checkpoints), master, configs)
        self.jobs = self._child("Spark with the jobs", "jobs.log", "odradek.demo.jobs", jobs.as_argument())
        if self._setting.has_page:
            arguments = ["--bootstrap", bootstrap, "--port", "0", "--attached"]
            if not self._setting.opens_browser:
                arguments.append("--no-browser")
            self.page = self._child("the page", "page.log", "odradek", "console", *arguments)
        self.reader = ProgressReader(bootstrap)
        self.writer = Writer(self.scenario, bootstrap)
        self.writer.start()

    def check(self) -> None:
        """Raises ChildEnded, NotWritten."""
        for child in (self.broker, self.jobs, self.page):
            if child is not None:
                child.check()
        if self.writer is not None and self.writer.failure is not None:
            raise self.writer.failure
        if self.writer is not None and self.writer.is_done and not self.writer.stop.is_set():
            raise NotWritten("the writer of events ended")

    def stop(self) -> list[str]:
        """Everything that was started is gone when this returns; what could not be done properly is told."""
        deadline_s = time.monotonic() + _JOBS_END_S
        children = [child for child in (self.page, self.jobs) if child is not None]
        for child in children:
            child.begin_to_stop()
        told = [f"{child.name} had to be killed" for child in children if not child.stop(deadline_s)]
        if self.writer is not None:
            self.writer.abandon(_WRITER_END_S)
        if self.reader is not None:
            self.reader.close()
        if self._topics is not None and self.broker is None and self._setting.keep is None:
            told += self._delete_topics(self._topics)
        if self.broker is not None and not self.broker.stop(time.monotonic() + _BROKER_END_S):
            told.append("the broker had to be killed")
        return told

    def _delete_topics(self, topics: Topics) -> list[str]:
        try:
            topics.delete()
        except (NoTopic, ClientError) as error:
            return [f"topics of the demo are left: {error}"]
        return []

    def _child(self, name: str, log: str, module: str, *arguments: str) -> Child:
        return Child(name, python_command(module, *arguments), self._place.logs / log, self._environ)
