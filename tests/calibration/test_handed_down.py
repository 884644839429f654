"""The specimens that the gallery was handed down with may be added to, never weakened."""

import hashlib
import json

from calibration.gallery import SHIPPED_GALLERY, load_gallery

HANDED_DOWN = 23
DIGEST = "3b7120c36610c5665f947dd8ca9831b567e71a3bbf9217254e9154998d8fa8bf"


def test_the_handed_down_specimens_stand_as_they_were() -> None:
    specimens = load_gallery(SHIPPED_GALLERY).specimens[:HANDED_DOWN]
    content = [
        specimen.model_dump(mode="json", exclude={"why"}, exclude_none=True)
        for specimen in specimens
    ]
    assert hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() == DIGEST


def test_the_three_that_the_specification_names_are_among_them() -> None:
    by_text = {item.conclusion: item for item in load_gallery(SHIPPED_GALLERY).specimens}
    yes = by_text["courtland responded with 'yes'"]
    assert yes.pass_1.decontextuality_max == 0.4
    assert yes.pass_1.unknown_slots_include == ("OBJECT_OR_CONTENT",)
    boss = by_text["Bob, Alice's boss at ACME, is retiring in November 2026"]
    assert boss.pass_1.decontextuality_min == 0.8
    murder = by_text["michael said that he could murder Dwight"]
    assert murder.pass_2.force_preserved is True
    assert murder.pass_1.licensed_inference == "present"
