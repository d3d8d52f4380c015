"""SASL: mechanisms, Kerberos, and OAuth tokens."""

from dataclasses import dataclass

from odradek.model.settings import Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class SaslSettings:
    """Part of BrokerConfig."""

    sasl_client_callback_handler_class: str | None = setting(
        Key(
            "sasl.client.callback.handler.class",
            Kind.CLASS,
            None,
            "The class that answers for this node where it is the client.",
        )
    )
    sasl_enabled_mechanisms: tuple[str, ...] = setting(
        Key(
            "sasl.enabled.mechanisms",
            Kind.LIST,
            ("GSSAPI",),
            "The mechanisms that clients may use.",
            distinct=True,
            live=Live.PER_BROKER,
        )
    )
    sasl_jaas_config: str | None = setting(
        Key(
            "sasl.jaas.config",
            Kind.PASSWORD,
            None,
            "The login of a listener and mechanism, in the form of a JAAS entry.",
            live=Live.PER_BROKER,
        )
    )
    sasl_kerberos_kinit_cmd: str = setting(
        Key("sasl.kerberos.kinit.cmd", Kind.STRING, "/usr/bin/kinit", "The kinit program.", live=Live.PER_BROKER)
    )
    sasl_kerberos_min_time_before_relogin: int = setting(
        Key(
            "sasl.kerberos.min.time.before.relogin",
            Kind.LONG,
            60_000,
            "The least time, in ms, between two attempts to renew a ticket.",
            live=Live.PER_BROKER,
        )
    )
    sasl_kerberos_principal_to_local_rules: tuple[str, ...] = setting(
        Key(
            "sasl.kerberos.principal.to.local.rules",
            Kind.LIST,
            ("DEFAULT",),
            "Rules that make a short user name of a Kerberos principal; the first that fits counts.",
            distinct=True,
            live=Live.PER_BROKER,
        )
    )
    sasl_kerberos_service_name: str | None = setting(
        Key(
            "sasl.kerberos.service.name",
            Kind.STRING,
            None,
            "The name in Kerberos that the brokers run under.",
            live=Live.PER_BROKER,
        )
    )
    sasl_kerberos_ticket_renew_jitter: float = setting(
        Key(
            "sasl.kerberos.ticket.renew.jitter",
            Kind.DOUBLE,
            0.05,
            "The random share that is added to the time of renewal.",
            live=Live.PER_BROKER,
        )
    )
    sasl_kerberos_ticket_renew_window_factor: float = setting(
        Key(
            "sasl.kerberos.ticket.renew.window.factor",
            Kind.DOUBLE,
            0.8,
            "The share of a ticket's life after which it is renewed.",
            live=Live.PER_BROKER,
        )
    )
    sasl_login_callback_handler_class: str | None = setting(
        Key("sasl.login.callback.handler.class", Kind.CLASS, None, "The class that supplies what a login asks for.")
    )
    sasl_login_class: str | None = setting(Key("sasl.login.class", Kind.CLASS, None, "The class that logs in."))
    sasl_login_connect_timeout_ms: int | None = setting(
        Key(
            "sasl.login.connect.timeout.ms",
            Kind.INT,
            None,
            "How long a connection to the identity provider may take to open.",
        )
    )
    sasl_login_read_timeout_ms: int | None = setting(
        Key("sasl.login.read.timeout.ms", Kind.INT, None, "How long the identity provider may take to answer.")
    )
    sasl_login_refresh_buffer_seconds: int = setting(
        Key(
            "sasl.login.refresh.buffer.seconds",
            Kind.SHORT,
            300,
            "How long before its end a token is renewed at the latest.",
            live=Live.PER_BROKER,
        )
    )
    sasl_login_refresh_min_period_seconds: int = setting(
        Key(
            "sasl.login.refresh.min.period.seconds",
            Kind.SHORT,
            60,
            "The least time between two renewals of a token.",
            live=Live.PER_BROKER,
        )
    )
    sasl_login_refresh_window_factor: float = setting(
        Key(
            "sasl.login.refresh.window.factor",
            Kind.DOUBLE,
            0.8,
            "The share of a token's life after which it is renewed.",
            live=Live.PER_BROKER,
        )
    )
    sasl_login_refresh_window_jitter: float = setting(
        Key(
            "sasl.login.refresh.window.jitter",
            Kind.DOUBLE,
            0.05,
            "The random share of its life that is added to the time when a token is renewed.",
            live=Live.PER_BROKER,
        )
    )
    sasl_login_retry_backoff_max_ms: int = setting(
        Key(
            "sasl.login.retry.backoff.max.ms",
            Kind.LONG,
            10_000,
            "The upper bound of the pause between attempts to log in.",
        )
    )
    sasl_login_retry_backoff_ms: int = setting(
        Key("sasl.login.retry.backoff.ms", Kind.LONG, 100, "The first pause between attempts to log in.")
    )
    sasl_mechanism_controller_protocol: str = setting(
        Key(
            "sasl.mechanism.controller.protocol",
            Kind.STRING,
            "GSSAPI",
            "The mechanism between brokers and controllers.",
        )
    )
    sasl_mechanism_inter_broker_protocol: str = setting(
        Key(
            "sasl.mechanism.inter.broker.protocol",
            Kind.STRING,
            "GSSAPI",
            "The mechanism between brokers.",
            live=Live.PER_BROKER,
        )
    )
    sasl_oauthbearer_assertion_algorithm: str = setting(
        Key(
            "sasl.oauthbearer.assertion.algorithm",
            Kind.STRING,
            "RS256",
            "The algorithm that assertions are signed with.",
            valid=("ES256", "RS256"),
            any_case=True,
        )
    )
    sasl_oauthbearer_assertion_claim_aud: str | None = setting(
        Key("sasl.oauthbearer.assertion.claim.aud", Kind.STRING, None, "The audience that an assertion claims.")
    )
    sasl_oauthbearer_assertion_claim_exp_seconds: int = setting(
        Key(
            "sasl.oauthbearer.assertion.claim.exp.seconds",
            Kind.INT,
            300,
            "For how long an assertion is valid.",
            least=0,
            most=86_400,
        )
    )
    sasl_oauthbearer_assertion_claim_iss: str | None = setting(
        Key("sasl.oauthbearer.assertion.claim.iss", Kind.STRING, None, "The issuer that an assertion claims.")
    )
    sasl_oauthbearer_assertion_claim_jti_include: bool = setting(
        Key(
            "sasl.oauthbearer.assertion.claim.jti.include",
            Kind.BOOLEAN,
            False,
            "Whether an assertion has an id of its own.",
        )
    )
    sasl_oauthbearer_assertion_claim_nbf_seconds: int = setting(
        Key(
            "sasl.oauthbearer.assertion.claim.nbf.seconds",
            Kind.INT,
            60,
            "How far in the past an assertion begins to be valid, for clocks that differ.",
            least=0,
            most=3600,
        )
    )
    sasl_oauthbearer_assertion_claim_sub: str | None = setting(
        Key("sasl.oauthbearer.assertion.claim.sub", Kind.STRING, None, "The subject that an assertion claims.")
    )
    sasl_oauthbearer_assertion_file: str | None = setting(
        Key("sasl.oauthbearer.assertion.file", Kind.STRING, None, "A file with an assertion that was made elsewhere.")
    )
    sasl_oauthbearer_assertion_private_key_file: str | None = setting(
        Key(
            "sasl.oauthbearer.assertion.private.key.file",
            Kind.STRING,
            None,
            "The file with the key that assertions are signed with.",
        )
    )
    sasl_oauthbearer_assertion_private_key_passphrase: str | None = setting(
        Key(
            "sasl.oauthbearer.assertion.private.key.passphrase",
            Kind.PASSWORD,
            None,
            "The password of the key that assertions are signed with.",
        )
    )
    sasl_oauthbearer_assertion_template_file: str | None = setting(
        Key(
            "sasl.oauthbearer.assertion.template.file",
            Kind.STRING,
            None,
            "A file with further headers and claims for assertions.",
        )
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = setting(
        Key(
            "sasl.oauthbearer.client.credentials.client.id",
            Kind.STRING,
            None,
            "The client id for the flow of client credentials.",
        )
    )
    sasl_oauthbearer_client_credentials_client_secret: str | None = setting(
        Key(
            "sasl.oauthbearer.client.credentials.client.secret",
            Kind.PASSWORD,
            None,
            "The client secret for the flow of client credentials.",
        )
    )
    sasl_oauthbearer_clock_skew_seconds: int = setting(
        Key(
            "sasl.oauthbearer.clock.skew.seconds",
            Kind.INT,
            30,
            "How far the clocks of the broker and the identity provider may differ.",
        )
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = setting(
        Key(
            "sasl.oauthbearer.expected.audience",
            Kind.LIST,
            (),
            "The audiences of which a token must name one.",
            distinct=True,
        )
    )
    sasl_oauthbearer_expected_issuer: str | None = setting(
        Key("sasl.oauthbearer.expected.issuer", Kind.STRING, None, "The issuer that a token must name.")
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = setting(
        Key(
            "sasl.oauthbearer.jwks.endpoint.refresh.ms",
            Kind.LONG,
            3_600_000,
            "How often the keys of the identity provider are fetched anew.",
        )
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = setting(
        Key(
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            Kind.LONG,
            10_000,
            "The upper bound of the pause after the keys of the identity provider could not be fetched.",
        )
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = setting(
        Key(
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            Kind.LONG,
            100,
            "The first pause after the keys of the identity provider could not be fetched.",
        )
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = setting(
        Key(
            "sasl.oauthbearer.jwks.endpoint.url",
            Kind.STRING,
            None,
            "Where the keys of the identity provider are found.",
        )
    )
    sasl_oauthbearer_jwt_retriever_class: str = setting(
        Key(
            "sasl.oauthbearer.jwt.retriever.class",
            Kind.CLASS,
            "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
            "The class that obtains tokens.",
        )
    )
    sasl_oauthbearer_jwt_validator_class: str = setting(
        Key(
            "sasl.oauthbearer.jwt.validator.class",
            Kind.CLASS,
            "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
            "The class that checks tokens.",
        )
    )
    sasl_oauthbearer_scope: str | None = setting(
        Key("sasl.oauthbearer.scope", Kind.STRING, None, "The scope that is asked for with a token.")
    )
    sasl_oauthbearer_scope_claim_name: str = setting(
        Key("sasl.oauthbearer.scope.claim.name", Kind.STRING, "scope", "The claim that names the scopes of a token.")
    )
    sasl_oauthbearer_sub_claim_name: str = setting(
        Key("sasl.oauthbearer.sub.claim.name", Kind.STRING, "sub", "The claim that names the subject of a token.")
    )
    sasl_oauthbearer_token_endpoint_url: str | None = setting(
        Key("sasl.oauthbearer.token.endpoint.url", Kind.STRING, None, "Where tokens are issued.")
    )
    sasl_server_callback_handler_class: str | None = setting(
        Key(
            "sasl.server.callback.handler.class",
            Kind.CLASS,
            None,
            "The class that checks what clients authenticate with.",
        )
    )
    sasl_server_max_receive_size: int = setting(
        Key(
            "sasl.server.max.receive.size",
            Kind.INT,
            524_288,
            "The longest message of a client before it is authenticated.",
        )
    )
