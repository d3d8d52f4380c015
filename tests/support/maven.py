"""Jars, through Maven, into the user's cache: fetched once, whole or not at all."""

import contextlib
import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.model.errors import OdradekError
from odradek.testing.cache import user_cache

_FETCH_S = 900
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_LOGGING = """\
status=error
appender.c.type=Console
appender.c.name=c
appender.c.target=SYSTEM_ERR
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.c.ref=c
"""


class Unavailable(OdradekError):
    """What is not ours cannot be had on this machine."""


class Artifact(NamedTuple):
    group: str
    name: str
    version: str


class Wanted(NamedTuple):
    """Jars that belong together. The first one is looked for where Maven says that all went well."""

    title: str
    """For people, with the version."""
    directory: str
    """In the user's cache."""
    artifacts: Sequence[Artifact]
    alone: bool = False
    """Without what they depend on."""


def installed(wanted: Wanted) -> Path:
    """A directory with the jars in `libs`, and `log4j2.properties` for who runs them. Raises Unavailable."""
    target = user_cache() / wanted.directory
    if not target.is_dir():  # it gets this name only when it is complete
        _fetch(target, wanted)
    return target


def _fetch(target: Path, wanted: Wanted) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable(f"{wanted.title} is not fetched yet, and there is no Maven (mvn) to fetch it with")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with only_one(target.parent / f"{target.name}.lock"):
            if not target.is_dir():
                _fetch_alone(maven, target, wanted)
    except OSError as error:
        raise Unavailable(f"{wanted.title} cannot be kept in {target.parent}: {error.strerror}") from None


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """The second of two waits, and finds it done."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch_alone(maven: str, target: Path, wanted: Wanted) -> None:
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.", dir=target.parent) as unfinished:
        work = Path(unfinished) / "work"
        work.mkdir()
        (work / "pom.xml").write_text(_pom(wanted), encoding="utf-8")
        whole = Path(unfinished) / target.name
        into = (f"-DoutputDirectory={whole / 'libs'}", "-DincludeScope=runtime")
        try:
            result = subprocess.run(
                [maven, "-q", "-B", "-ntp", _COPY, *into],
                cwd=work,
                capture_output=True,
                text=True,
                timeout=_FETCH_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not fetch {wanted.title} within {_FETCH_S} s") from None
        first = wanted.artifacts[0]
        if result.returncode != 0 or not (whole / "libs" / f"{first.name}-{first.version}.jar").exists():
            lines = (result.stdout + result.stderr).splitlines()
            why = next((line for line in lines if "ERROR" in line), "it says nothing of why")
            raise Unavailable(f"Maven could not fetch {wanted.title}: {why}")
        (whole / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")
        whole.rename(target)  # killed before here: the half-done one has another name, and is fetched anew


def _pom(wanted: Wanted) -> str:
    nothing_else = (
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
        if wanted.alone
        else ""
    )
    dependencies = "".join(
        f"<dependency><groupId>{each.group}</groupId><artifactId>{each.name}</artifactId>"
        f"<version>{each.version}</version>{nothing_else}</dependency>"
        for each in wanted.artifacts
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>odradek</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
    )
