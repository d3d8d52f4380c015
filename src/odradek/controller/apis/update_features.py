"""UpdateFeatures: all of the levels or none."""

from odradek.controller import features
from odradek.controller.context import Context
from odradek.controller.features import FeatureUpdate, UpgradeType
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_DONE = "NONE"
"""What Kafka says of each feature for which there is nothing to say."""


def decide(image: Image, request: UpdateFeaturesRequest, context: Context) -> ControllerResult[UpdateFeaturesResponse]:
    wanted = [_update(each, context.version) for each in request.feature_updates]
    least = context.broker.min_insync_replicas
    result = features.update(image, wanted, least, validate_only=request.validate_only)
    results = tuple(UpdatableFeatureResult(feature=each.name, error_message=_DONE) for each in wanted)
    return ControllerResult(result.records, UpdateFeaturesResponse(results=results))


def refuse(_request: UpdateFeaturesRequest, error: BrokerError) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=str(error))


def _update(asked: FeatureUpdateKey, version: int) -> FeatureUpdate:
    kind = asked.upgrade_type
    if version == 0 and asked.allow_downgrade:
        kind = UpgradeType.SAFE_DOWNGRADE
    return FeatureUpdate(asked.feature, asked.max_version_level, kind)
