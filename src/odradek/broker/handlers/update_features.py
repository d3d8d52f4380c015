"""UpdateFeatures, versions 0 to 2: all of the levels or none."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.settings import Settings
from odradek.controller import features
from odradek.controller.features import FeatureUpdate, UpgradeType
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

VERSIONS = (0, 2)
_DONE = "NONE"
"""What Kafka says of each feature for which there is nothing to say."""


class UpdateFeatures:
    def __init__(self, broker: Broker, metadata: MetadataLog, settings: Settings) -> None:
        self._broker = broker
        self._metadata = metadata
        self._settings = settings

    async def handle(self, call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        wanted = [_update(each, call.version) for each in request.feature_updates]
        least = self._settings.now(self._broker.image).min_insync_replicas
        try:
            await self._metadata.perform(
                lambda image: features.update(image, wanted, least, validate_only=request.validate_only)
            )
        except BrokerError as error:
            return UpdateFeaturesResponse(error_code=error.code, error_message=str(error))
        results = tuple(UpdatableFeatureResult(feature=each.name, error_message=_DONE) for each in wanted)
        return UpdateFeaturesResponse(results=results)


def _update(asked: FeatureUpdateKey, version: int) -> FeatureUpdate:
    kind = asked.upgrade_type
    if version == 0 and asked.allow_downgrade:
        kind = UpgradeType.SAFE_DOWNGRADE
    return FeatureUpdate(asked.feature, asked.max_version_level, kind)
