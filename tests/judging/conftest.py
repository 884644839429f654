"""Fixtures of the judging tests."""

from tests.messages_api.fixtures import messages_api, messages_api_process

__all__ = ["messages_api", "messages_api_process"]
