"""Who a client is, and what it may do."""

from dataclasses import dataclass

from odradek.model.settings import Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class AccessSettings:
    """Part of BrokerConfig."""

    authorizer_class_name: str = setting(
        Key(
            "authorizer.class.name",
            Kind.STRING,
            "",
            "The class that decides what a client may do; empty lets everybody do everything.",
        )
    )
    principal_builder_class: str = setting(
        Key(
            "principal.builder.class",
            Kind.CLASS,
            "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
            "The class that says who the client of a connection is.",
            live=Live.PER_BROKER,
        )
    )
    security_inter_broker_protocol: str = setting(
        Key(
            "security.inter.broker.protocol",
            Kind.STRING,
            "PLAINTEXT",
            "The protocol between brokers, where no inter.broker.listener.name is given.",
            valid=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        )
    )
    security_providers: str | None = setting(
        Key("security.providers", Kind.STRING, None, "Classes that add security algorithms to the Java runtime.")
    )
    delegation_token_expiry_check_interval_ms: int = setting(
        Key(
            "delegation.token.expiry.check.interval.ms",
            Kind.LONG,
            3_600_000,
            "How often expired tokens are looked for.",
            least=1,
        )
    )
    delegation_token_expiry_time_ms: int = setting(
        Key(
            "delegation.token.expiry.time.ms",
            Kind.LONG,
            86_400_000,
            "How long a token is valid unless it is renewed.",
            least=1,
        )
    )
    delegation_token_max_lifetime_ms: int = setting(
        Key(
            "delegation.token.max.lifetime.ms",
            Kind.LONG,
            604_800_000,
            "The age past which a token cannot be renewed.",
            least=1,
        )
    )
    delegation_token_secret_key: str | None = setting(
        Key(
            "delegation.token.secret.key",
            Kind.PASSWORD,
            None,
            "The secret that tokens are signed with, the same on all nodes; without one there are no tokens.",
        )
    )
