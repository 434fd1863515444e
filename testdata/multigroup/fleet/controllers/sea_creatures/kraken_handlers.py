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

"""The kopf handlers of Kraken."""

import kopf

from fleet.api.sea_creatures.v1alpha1 import Kraken

RESOURCE = ("sea-creatures.example.com", "v1alpha1", "kraken")
"""The group, version and plural of the kind that the handlers watch."""


# +kubebuilder:rbac:groups=sea-creatures.example.com,resources=kraken,verbs=get;list;watch;create;update;patch;delete
# +kubebuilder:rbac:groups=sea-creatures.example.com,resources=kraken/status,verbs=get;update;patch
# +kubebuilder:rbac:groups=sea-creatures.example.com,resources=kraken/finalizers,verbs=update
# kopf itself records events and watches CRDs.
# +kubebuilder:rbac:groups="",resources=events,verbs=create
# +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
@kopf.on.resume(*RESOURCE)
@kopf.on.create(*RESOURCE)
@kopf.on.update(*RESOURCE)
async def reconcile(body: kopf.Body, logger: kopf.Logger, **_: object) -> None:
    """Reconcile an object. Runs when it is created, when it changes, and when the manager starts."""
    resource = Kraken.from_wire(body)
    logger.info("reconciling %s", resource.metadata.name)


@kopf.on.delete(*RESOURCE)
async def delete(body: kopf.Body, logger: kopf.Logger, **_: object) -> None:
    """Clean up before the object is deleted. kopf's finalizer keeps it until this returns."""
    resource = Kraken.from_wire(body)
    logger.info("deleting %s", resource.metadata.name)
