"""Values of settings that are elsewhere: in files, in directories of files, in the environment."""

from pathlib import Path

import pytest

from odradek.model.errors import InvalidConfig
from odradek.server.config import load
from odradek.server.config_providers import Variables

PACKAGE = "org.apache.kafka.common.config.provider."
PROVIDERS = {
    "config.providers": "file, dir,env",
    "config.providers.file.class": PACKAGE + "FileConfigProvider",
    "config.providers.dir.class": PACKAGE + "DirectoryConfigProvider",
    "config.providers.env.class": PACKAGE + "EnvVarConfigProvider",
}
ENVIRONMENT = {"KEY": "from outside", "OTHER": "x"}


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "secrets.properties").write_text("password=s3cret\nport = 9092\nlink=${env:KEY}\n")
    (tmp_path / "token").write_text("t0ken")
    return tmp_path


def resolve(text: str, **more: str) -> str:
    given = {**PROVIDERS, **{name.replace("__", "."): value for name, value in more.items()}}
    return Variables(given, ENVIRONMENT).resolve(text)


def test_values_are_put_in_their_places(secrets: Path) -> None:
    assert resolve(f"${{file:{secrets}/secrets.properties:password}}") == "s3cret"
    assert resolve(f"x ${{file:{secrets}/secrets.properties:port}} y ${{dir:{secrets}:token}}") == "x 9092 y t0ken"
    assert resolve("${env:KEY}") == "from outside"
    assert resolve("${env::KEY}") == "from outside"


def test_what_is_resolved_is_not_looked_at_again(secrets: Path) -> None:
    assert resolve(f"${{file:{secrets}/secrets.properties:link}}") == "${env:KEY}"


def test_other_texts_stay_as_they_are() -> None:
    for text in ("", "plain", "$KEY", "${KEY}", "${vault:a:b}", "${env", "a:b}"):
        assert resolve(text) == text
    assert Variables({}, ENVIRONMENT).resolve("${env:KEY}") == "${env:KEY}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${file:/no/such/file:key}", "No such file"),
        ("${file:{}/secrets.properties:user}", "no 'user'"),
        ("${file:secrets}", "path is missing"),
        ("${dir:{}:../token}", "name a file"),
        ("${dir:{}:nothing}", "No such file"),
        ("${env:NOTHING}", "no such variable"),
        ("${env:path:KEY}", "no path"),
    ],
)
def test_what_cannot_be_resolved_is_an_error(secrets: Path, text: str, why: str) -> None:
    with pytest.raises(InvalidConfig, match=why):
        resolve(text.replace("{}", str(secrets)))


def test_what_is_not_allowed(secrets: Path) -> None:
    allowed = {"config__providers__file__param__allowed__paths": f"/elsewhere,{secrets}"}
    assert resolve(f"${{file:{secrets}/secrets.properties:port}}", **allowed) == "9092"
    with pytest.raises(InvalidConfig, match="allowed"):
        resolve(f"${{file:{secrets}/../secrets.properties:port}}", **allowed)
    listed = {"config__providers__env__param__allowlist__pattern": "K.*"}
    assert resolve("${env:KEY}", **listed) == "from outside"
    with pytest.raises(InvalidConfig, match="allowed"):
        resolve("${env:OTHER}", **listed)


def test_a_provider_that_there_is_not() -> None:
    with pytest.raises(InvalidConfig, match=r"config\.providers\.vault\.class"):
        Variables({"config.providers": "vault", "config.providers.vault.class": "com.example.Vault"}, {})


def test_settings_of_a_node_are_resolved(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTION", "7")
    file = secrets / "server.properties"
    lines = [f"{name}={value}" for name, value in PROVIDERS.items()]
    lines += ["process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER"]
    lines += [
        f"listeners=PLAINTEXT://:${{file:{secrets}/secrets.properties:port}}",
        "log.retention.hours=${env:RETENTION}",
    ]
    file.write_text("\n".join(lines))
    config = load(str(file), ["num.partitions=${env:RETENTION}"])
    assert config.broker_endpoints[0].port == 9092
    assert (config.log_retention_hours, config.num_partitions) == (7, 7)
    file.write_text("\n".join([*lines[:-1], "log.retention.hours=${env:NOTHING}"]))
    with pytest.raises(InvalidConfig, match=r"server\.properties, line 9: log\.retention\.hours: .*NOTHING"):
        load(str(file))
