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

"""Conversion of Frigate between v1beta1 and v1."""

import pytest
import yaml
from pykb.runtime import Client
from pykb.testing import RunManager, assert_round_trips

from fleet.api.ship import v1, v1beta1
from fleet.api.ship.v1.frigate_types import FrigateSpec, Home
from fleet.api.ship.v1beta1.frigate_conversion import BERTH, FrigateConverter
from fleet.webhooks.ship.v1.frigate_webhook import setup_frigate_webhook

SAMPLE = "config/samples/ship_v1beta1_frigate.yaml"


def test_nothing_is_lost_on_the_way() -> None:
    """An object of either version is the same after a trip to the other one and back."""
    assert_round_trips(FrigateConverter())


def test_the_berth_travels_in_an_annotation() -> None:
    """It is out of sight in v1, where it has a field."""
    frigate = v1.Frigate(spec=FrigateSpec(home=Home(port="Boston", berth="Pier 1")))
    spoke = FrigateConverter().from_hub(frigate)
    assert spoke.spec.home_port == "Boston"
    assert spoke.metadata.annotations == {BERTH: "Pier 1"}
    assert FrigateConverter().to_hub(spoke).spec.home == Home(port="Boston", berth="Pier 1")
    assert not FrigateConverter().to_hub(spoke).metadata.annotations


@pytest.mark.usefixtures("crds")
async def test_the_api_server_converts(
    client: Client, namespace: str, run_manager: RunManager, pytestconfig: pytest.Config
) -> None:
    """Written as v1beta1, read as v1, changed there, and read as v1beta1 again."""
    sample = yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8"))
    frigate = v1beta1.Frigate.from_wire(sample)
    frigate.metadata.namespace = namespace
    async with run_manager(setup_frigate_webhook):
        await client.create(frigate)
        new = await client.get(v1.Frigate, frigate)
        assert new.spec.home == Home(port="Portsmouth")
        new.spec.home = Home(port="Portsmouth", berth="Dock 3")
        await client.update(new)
        old = await client.get(v1beta1.Frigate, frigate)
        assert old.spec.home_port == "Portsmouth"
        assert (old.metadata.annotations or {})[BERTH] == "Dock 3"
