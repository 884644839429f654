"""The same calls by the SDK alone: two a conclusion, one after the other, 64 conclusions at once.

    python tests/benchmarks/bare.py BODIES URL MAX_IN_FLIGHT

BODIES: JSON lines, each an array of the bodies of one conclusion, sent in order.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anthropic


async def main(lines: Sequence[str], url: str, max_in_flight: int) -> int:
    """Send all, read every answer's JSON, and return how many there were."""
    client = anthropic.AsyncAnthropic(api_key="none", base_url=url)
    slots = asyncio.Semaphore(max_in_flight)

    async def conclusion(line: str) -> int:
        async with slots:
            answers = [await ask(body) for body in json.loads(line)]
        return len(answers)

    async def ask(body: dict[str, Any]) -> Any:
        message = await client.messages.create(**body)
        return json.loads(message.content[0].text)

    return sum(await asyncio.gather(*(conclusion(line) for line in lines)))


if __name__ == "__main__":
    bodies = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    answered = asyncio.run(main(bodies, sys.argv[2], int(sys.argv[3])))
    sys.stdout.write(f"{answered} answered\n")
