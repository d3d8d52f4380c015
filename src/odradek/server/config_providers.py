"""Settings whose values are elsewhere: `${file:PATH:KEY}`, `${directory:PATH:FILE}`, `${env:NAME}`.

`config.providers` names providers, and `config.providers.NAME.class` says what each of them is, by the name that Kafka
has for it. A variable of any other name is left as it is. One that cannot be resolved is an error: Kafka goes on with
the text of the variable, which is nothing that anybody wants.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from odradek.model import properties
from odradek.model.errors import InvalidConfig

NAMES = "config.providers"

_VARIABLE = re.compile(r"\$\{([^}:]*):(?:([^}]*?):)?([^}:]*)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."

Provider = Callable[[str, str], str]
"""The value of a key at a path. Raises InvalidConfig, or OSError for a file that cannot be read."""


class Variables:
    """What the providers of some settings know."""

    def __init__(self, texts: Mapping[str, str], environment: Mapping[str, str]) -> None:
        """Raises InvalidConfig for a provider that there is not."""
        names = (name.strip() for name in texts.get(NAMES, "").split(","))
        self._providers = {name: _provider(name, texts, environment) for name in names if name}

    def resolve(self, text: str) -> str:
        """The text with its variables replaced. Raises InvalidConfig."""
        return _VARIABLE.sub(self._value, text) if self._providers else text

    def _value(self, variable: re.Match[str]) -> str:
        name, path, key = variable[1], variable[2] or "", variable[3]
        if name not in self._providers:
            return variable[0]
        try:
            return self._providers[name](path.strip(), key.strip())
        except (InvalidConfig, OSError, UnicodeDecodeError) as error:
            raise InvalidConfig(f"{variable[0]}: {error}") from None


def _provider(name: str, texts: Mapping[str, str], environment: Mapping[str, str]) -> Provider:
    kind = texts.get(f"{NAMES}.{name}.class", "").strip()
    paths = texts.get(f"{NAMES}.{name}.param.allowed.paths", "")
    allowed = [Path(os.path.normpath(each.strip())) for each in paths.split(",") if each.strip()]
    pattern = texts.get(f"{NAMES}.{name}.param.allowlist.pattern", "")
    match kind.removeprefix(_PACKAGE):
        case "FileConfigProvider":
            return lambda path, key: _in_file(_checked(path, allowed), key)
        case "DirectoryConfigProvider":
            return lambda path, key: _in_directory(_checked(path, allowed), key)
        case "EnvVarConfigProvider":
            return lambda path, key: _in_environment(path, key, environment, pattern)
        case _:
            known = ", ".join(f"{each}ConfigProvider" for each in ("File", "Directory", "EnvVar"))
            raise InvalidConfig(f"{NAMES}.{name}.class is {kind!r}: must be {_PACKAGE} and one of {known}")


def _checked(path: str, allowed: list[Path]) -> Path:
    found = Path(os.path.normpath(path))
    if not path:
        raise InvalidConfig("a path is missing")
    if allowed and not any(found.is_relative_to(each) for each in allowed):
        raise InvalidConfig("not in the paths that are allowed")
    return found


def _in_file(path: Path, key: str) -> str:
    values = {each.name: each.value for each in properties.parse(path.read_text(encoding="utf-8"))}
    if key not in values:
        raise InvalidConfig(f"the file has no {key!r}")
    return values[key]


def _in_directory(path: Path, key: str) -> str:
    """A file of the directory by its name, as secrets are mounted; its whole content is the value."""
    if not key or Path(key).name != key:
        raise InvalidConfig("must name a file of the directory")
    return (path / key).read_text(encoding="utf-8")


def _in_environment(path: str, key: str, environment: Mapping[str, str], pattern: str) -> str:
    if path:
        raise InvalidConfig("variables of the environment have no path")
    if pattern and not re.fullmatch(pattern, key):
        raise InvalidConfig("not among the variables that are allowed")
    if key not in environment:
        raise InvalidConfig("the environment has no such variable")
    return environment[key]
