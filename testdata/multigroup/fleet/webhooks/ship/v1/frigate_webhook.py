# Copyright fanux
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The webhooks of Frigate."""

from pykb.runtime import Manager, Validator, Warnings, WebhookBuilder

from fleet.api.ship.v1 import Frigate
from fleet.api.ship.v1beta1.frigate_conversion import FrigateConverter


# +kubebuilder:webhook:path=/validate-ship-example-com-v1-frigate,mutating=false,failurePolicy=fail,sideEffects=None,groups=ship.example.com,resources=frigates,verbs=create;update,versions=v1,name=vfrigate-v1.kb.io,admissionReviewVersions=v1
class FrigateValidator(Validator[Frigate]):
    """Validates Frigate objects where the schema cannot."""

    async def validate_create(self, obj: Frigate) -> Warnings:
        """Raise Denied to reject a new object. Return warnings for the user, or None."""
        return None

    async def validate_update(self, old: Frigate, new: Frigate) -> Warnings:
        """Raise Denied to reject a change. Accept updates that leave the spec unchanged."""
        return None

    async def validate_delete(self, obj: Frigate) -> Warnings:
        """Raise Denied to prevent deletion. To enable this, add `delete` to the verbs of the marker."""
        return None


def setup_frigate_webhook(manager: Manager) -> None:
    """Register the webhooks with the manager."""
    builder = WebhookBuilder(manager).for_(Frigate)
    builder.with_converter(FrigateConverter())
    builder.with_validator(FrigateValidator())
    builder.complete()
