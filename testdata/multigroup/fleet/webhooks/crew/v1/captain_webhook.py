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

"""The webhooks of Captain."""

from pykb.runtime import Defaulter, Manager, WebhookBuilder

from fleet.api.crew.v1 import Captain


# +kubebuilder:webhook:path=/default-captains,mutating=true,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update,versions=v1,name=mcaptain-v1.kb.io,admissionReviewVersions=v1
class CaptainDefaulter(Defaulter[Captain]):
    """Sets defaults on Captain objects."""

    async def default(self, obj: Captain) -> None:
        """Change the object before it is validated and stored. It may be called twice for one request."""


def setup_captain_webhook(manager: Manager) -> None:
    """Register the webhooks with the manager."""
    builder = WebhookBuilder(manager).for_(Captain)
    builder.with_defaulter(CaptainDefaulter(), path="/default-captains")
    builder.complete()
