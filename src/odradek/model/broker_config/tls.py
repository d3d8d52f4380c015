"""TLS: keys, certificates, and what is negotiated."""

from dataclasses import dataclass

from odradek.model.settings import Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TlsSettings:
    """Part of BrokerConfig."""

    ssl_allow_dn_changes: bool = setting(
        Key(
            "ssl.allow.dn.changes",
            Kind.BOOLEAN,
            False,
            "Whether a new certificate may name another subject than the one it replaces.",
        )
    )
    ssl_allow_san_changes: bool = setting(
        Key(
            "ssl.allow.san.changes",
            Kind.BOOLEAN,
            False,
            "Whether a new certificate may lack names that the one it replaces has.",
        )
    )
    ssl_cipher_suites: tuple[str, ...] = setting(
        Key(
            "ssl.cipher.suites",
            Kind.LIST,
            (),
            "The cipher suites that may be negotiated; empty for all that the runtime offers.",
            distinct=True,
            live=Live.PER_BROKER,
        )
    )
    ssl_client_auth: str = setting(
        Key(
            "ssl.client.auth",
            Kind.STRING,
            "none",
            "Whether clients must, may or need not show a certificate.",
            valid=("required", "requested", "none"),
            live=Live.PER_BROKER,
        )
    )
    ssl_enabled_protocols: tuple[str, ...] = setting(
        Key(
            "ssl.enabled.protocols",
            Kind.LIST,
            ("TLSv1.2", "TLSv1.3"),
            "The versions of TLS that are taken.",
            distinct=True,
            live=Live.PER_BROKER,
        )
    )
    ssl_endpoint_identification_algorithm: str = setting(
        Key(
            "ssl.endpoint.identification.algorithm",
            Kind.STRING,
            "https",
            "How the name of a server is checked against its certificate; empty for not at all.",
            live=Live.PER_BROKER,
        )
    )
    ssl_engine_factory_class: str | None = setting(
        Key(
            "ssl.engine.factory.class",
            Kind.CLASS,
            None,
            "The class that sets up TLS in place of these settings.",
            live=Live.PER_BROKER,
        )
    )
    ssl_key_password: str | None = setting(
        Key(
            "ssl.key.password",
            Kind.PASSWORD,
            None,
            "What opens the private key, where it is encrypted.",
            live=Live.PER_BROKER,
        )
    )
    ssl_keymanager_algorithm: str = setting(
        Key(
            "ssl.keymanager.algorithm",
            Kind.STRING,
            "SunX509",
            "The algorithm of the runtime's key manager.",
            live=Live.PER_BROKER,
        )
    )
    ssl_keystore_certificate_chain: str | None = setting(
        Key(
            "ssl.keystore.certificate.chain",
            Kind.PASSWORD,
            None,
            "The certificates of this node in PEM, its own first.",
            live=Live.PER_BROKER,
        )
    )
    ssl_keystore_key: str | None = setting(
        Key("ssl.keystore.key", Kind.PASSWORD, None, "The private key of this node in PEM.", live=Live.PER_BROKER)
    )
    ssl_keystore_location: str | None = setting(
        Key(
            "ssl.keystore.location",
            Kind.STRING,
            None,
            "The file that holds key and certificates.",
            live=Live.PER_BROKER,
        )
    )
    ssl_keystore_password: str | None = setting(
        Key(
            "ssl.keystore.password",
            Kind.PASSWORD,
            None,
            "The password of the file of ssl.keystore.location.",
            live=Live.PER_BROKER,
        )
    )
    ssl_keystore_type: str = setting(
        Key(
            "ssl.keystore.type",
            Kind.STRING,
            "JKS",
            "The format of the file of ssl.keystore.location.",
            live=Live.PER_BROKER,
        )
    )
    ssl_principal_mapping_rules: str = setting(
        Key(
            "ssl.principal.mapping.rules",
            Kind.STRING,
            "DEFAULT",
            "Rules that make a short user name of the subject of a client's certificate.",
        )
    )
    ssl_protocol: str = setting(
        Key(
            "ssl.protocol",
            Kind.STRING,
            "TLSv1.3",
            "The version of TLS that contexts are made for.",
            live=Live.PER_BROKER,
        )
    )
    ssl_provider: str | None = setting(
        Key("ssl.provider", Kind.STRING, None, "The provider of TLS in the runtime.", live=Live.PER_BROKER)
    )
    ssl_secure_random_implementation: str | None = setting(
        Key(
            "ssl.secure.random.implementation",
            Kind.STRING,
            None,
            "The source of random numbers for TLS.",
            live=Live.PER_BROKER,
        )
    )
    ssl_trustmanager_algorithm: str = setting(
        Key(
            "ssl.trustmanager.algorithm",
            Kind.STRING,
            "PKIX",
            "The algorithm of the runtime's trust manager.",
            live=Live.PER_BROKER,
        )
    )
    ssl_truststore_certificates: str | None = setting(
        Key(
            "ssl.truststore.certificates",
            Kind.PASSWORD,
            None,
            "The certificates that are trusted, in PEM.",
            live=Live.PER_BROKER,
        )
    )
    ssl_truststore_location: str | None = setting(
        Key(
            "ssl.truststore.location",
            Kind.STRING,
            None,
            "The file that holds the certificates that are trusted.",
            live=Live.PER_BROKER,
        )
    )
    ssl_truststore_password: str | None = setting(
        Key(
            "ssl.truststore.password",
            Kind.PASSWORD,
            None,
            "The password of the file of ssl.truststore.location.",
            live=Live.PER_BROKER,
        )
    )
    ssl_truststore_type: str = setting(
        Key(
            "ssl.truststore.type",
            Kind.STRING,
            "JKS",
            "The format of the file of ssl.truststore.location.",
            live=Live.PER_BROKER,
        )
    )
