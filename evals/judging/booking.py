"""What is set aside for one case as a whole, so that it is not left half judged."""

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from evals.judging.amount import NOTHING, Amount
from evals.judging.estimates import Estimates, Size
from evals.judging.needs import Needs


# By identity: it is used up call by call.
@dataclass(eq=False)
class Booking:
    """What a case that has begun may still need, beyond its calls in flight."""

    now: dict[str, Amount]
    """Of the calls that are known, by request hash."""
    later: defaultdict[str, list[Amount]]
    """Of those that may follow, by purpose: one a call."""
    is_whole: bool = False
    """Whether all of it is set aside. Else its calls have to find room one by one."""

    @classmethod
    def of(
        cls, needs: Needs, estimates: Estimates, amount_of: Callable[[Size], Amount]
    ) -> "Booking":
        """Return what a case needs at most: every call that it may come to.

        Args:
            needs: of the case.
            estimates: of the answers that its later calls will hold.
            amount_of: what to set aside for a call.
        """
        later: defaultdict[str, list[Amount]] = defaultdict(list)
        for size, _, most in needs.later(estimates):
            later[size.purpose].extend([amount_of(size)] * most)
        return cls({each: amount_of(size) for each, size in needs.now.items()}, later)

    def drop(self, request_hashes: Collection[str]) -> None:
        """Need these calls no more: others see to them."""
        self.now = {each: part for each, part in self.now.items() if each not in request_hashes}

    @property
    def amount(self) -> Amount:
        """All of it."""
        total = NOTHING
        for part in (
            *self.now.values(),
            *(part for parts in self.later.values() for part in parts),
        ):
            total = total.plus(part)
        return total

    def take(self, request_hash: str, purpose: str) -> Amount:
        """Return what was booked for a call, and book it no more; nothing if it was not booked."""
        if request_hash in self.now:
            return self.now.pop(request_hash)
        parts = self.later[purpose]
        return parts.pop() if parts else NOTHING
