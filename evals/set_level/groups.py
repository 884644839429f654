"""Groups of conclusions that overlap, made into groups that do not."""

from collections.abc import Iterable, Sequence


def merged(groups: Iterable[Sequence[str]], order: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the connected components: groups with a member in common become one group.

    Args:
        groups: ids, in any order.
        order: every id that can be in a group, each once.

    Returns:
        Each component in that order, and the components by their first member.

    Raises:
        KeyError: a group has a member that is not in ``order``.
    """
    home: dict[str, set[str]] = {}
    for group in groups:
        together = set(group).union(*(home[member] for member in group if member in home))
        home |= dict.fromkeys(together, together)
    place = {member: number for number, member in enumerate(order)}
    components = {id(component): component for component in home.values()}.values()
    ordered = [sorted(component, key=place.__getitem__) for component in components]
    return tuple(map(tuple, sorted(ordered, key=lambda component: place[component[0]])))
