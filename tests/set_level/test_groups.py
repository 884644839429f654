"""Overlapping groups become connected components, in the order of the batch."""

import random

import pytest

from evals.set_level.groups import merged


@pytest.mark.parametrize(
    ("groups", "wanted"),
    [
        ([], []),
        (["ab"], ["ab"]),
        (["ba", "dc"], ["ab", "cd"]),
        (["ab", "bc"], ["abc"]),
        (["ab", "ab"], ["ab"]),
        (["abc", "ca"], ["abc"]),
        (["fe", "dc", "ba"], ["ab", "cd", "ef"]),
        (["ab", "cd", "ef", "da"], ["abcd", "ef"]),
        (["ab", "cd", "ef", "ace"], ["abcdef"]),
        (["fa", "af", "be", "ec"], ["af", "bce"]),
    ],
)
def test_groups_with_a_member_in_common_are_one(groups: list[str], wanted: list[str]) -> None:
    assert merged(groups, "abcdef") == tuple(map(tuple, wanted))


def test_the_order_of_groups_and_members_does_not_matter() -> None:
    rng = random.Random(3)
    order = [f"c{number}" for number in range(60)]
    groups = [rng.sample(order, rng.choice([2, 2, 3])) for _ in range(25)]
    wanted = merged(groups, order)
    assert 1 < len(wanted) < 25
    for _ in range(20):
        rng.shuffle(groups)
        for group in groups:
            rng.shuffle(group)
        assert merged(groups, order) == wanted


def test_a_stranger_is_an_error() -> None:
    with pytest.raises(KeyError, match="x"):
        merged(["ax"], "ab")
