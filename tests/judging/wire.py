"""Attempts over a real connection, one by one."""

import asyncio

from pydantic import SecretStr

from evals.judging.live import LiveTransport
from evals.judging.transport import AttemptError, Reply
from tests.judging.helpers import request_for

KEY = "sk-ant-do-not-tell-anyone"


def exchange(
    url: str, *conclusions: str, deadline_s: float = 20.0, at_once: int = 64
) -> list[Reply | BaseException]:
    """Send each conclusion once, in order where ``at_once`` is 1; what each came to."""

    async def run() -> list[Reply | BaseException]:
        transport = LiveTransport(api_key=SecretStr(KEY), base_url=url, max_in_flight=64)
        places = asyncio.Semaphore(at_once)

        async def send(conclusion: str) -> Reply:
            async with places, asyncio.timeout(deadline_s):
                return await transport.send(request_for(conclusion).body)

        try:
            return await asyncio.gather(*map(send, conclusions), return_exceptions=True)
        finally:
            await transport.aclose()

    return asyncio.run(run())


def failure_of(result: Reply | BaseException) -> AttemptError:
    assert isinstance(result, AttemptError), result
    return result
