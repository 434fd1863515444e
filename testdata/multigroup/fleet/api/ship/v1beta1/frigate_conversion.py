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

"""Conversion of Frigate between v1beta1 and v1, in which it is stored."""

from pykb.api import Converter, carry_over

from fleet.api.ship import v1, v1beta1
from fleet.api.ship.v1.frigate_types import Home

BERTH = "ship.example.com/berth"
"""The annotation of a v1beta1 that keeps what it has no field for."""


class FrigateConverter(Converter[v1beta1.Frigate, v1.Frigate]):
    """Brings objects from v1beta1 to v1 and back, without losing anything of them."""

    def to_hub(self, spoke: v1beta1.Frigate) -> v1.Frigate:
        """The port becomes a part of the home; the berth comes back out of its annotation."""
        hub = carry_over(spoke, v1.Frigate)
        annotations = spoke.metadata.annotations or {}
        if spoke.spec.home_port is not None:
            hub.spec.home = Home(port=spoke.spec.home_port, berth=annotations.get(BERTH))
        if BERTH in annotations:
            hub.metadata.annotations = {key: value for key, value in annotations.items() if key != BERTH}
        return hub

    def from_hub(self, hub: v1.Frigate) -> v1beta1.Frigate:
        """The home is a port only; the berth goes into an annotation."""
        spoke = carry_over(hub, v1beta1.Frigate)
        if hub.spec.home is not None:
            spoke.spec.home_port = hub.spec.home.port
            if hub.spec.home.berth is not None:
                spoke.metadata.annotations = {**(hub.metadata.annotations or {}), BERTH: hub.spec.home.berth}
        return spoke
