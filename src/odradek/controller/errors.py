"""Why a command is refused, each with its code."""

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError


class InvalidRequest(BrokerError):
    code = ErrorCode.INVALID_REQUEST


class TopicAlreadyExists(BrokerError):
    code = ErrorCode.TOPIC_ALREADY_EXISTS


class InvalidPartitions(BrokerError):
    code = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactor(BrokerError):
    code = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignment(BrokerError):
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class InvalidConfiguration(BrokerError):
    code = ErrorCode.INVALID_CONFIG


class PolicyViolation(BrokerError):
    code = ErrorCode.POLICY_VIOLATION


class TopicDeletionDisabled(BrokerError):
    code = ErrorCode.TOPIC_DELETION_DISABLED


class InvalidUpdateVersion(BrokerError):
    code = ErrorCode.INVALID_UPDATE_VERSION


class BrokerNotRegistered(BrokerError):
    code = ErrorCode.BROKER_ID_NOT_REGISTERED


class StaleBrokerEpoch(BrokerError):
    code = ErrorCode.STALE_BROKER_EPOCH


class InvalidRegistration(BrokerError):
    code = ErrorCode.INVALID_REGISTRATION


class ResourceNotFound(BrokerError):
    code = ErrorCode.RESOURCE_NOT_FOUND


class DuplicateResource(BrokerError):
    code = ErrorCode.DUPLICATE_RESOURCE


class UnacceptableCredential(BrokerError):
    code = ErrorCode.UNACCEPTABLE_CREDENTIAL


class UnsupportedSaslMechanism(BrokerError):
    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


class ElectionNotNeeded(BrokerError):
    code = ErrorCode.ELECTION_NOT_NEEDED


class PreferredLeaderNotAvailable(BrokerError):
    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


class EligibleLeadersNotAvailable(BrokerError):
    code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


class NoReassignmentInProgress(BrokerError):
    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


class InconsistentClusterId(BrokerError):
    code = ErrorCode.INCONSISTENT_CLUSTER_ID
