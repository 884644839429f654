"""What the environment may hold."""

import pytest

from evals.config import api_key_in_environment
from evals.environment import base_url_in_environment
from evals.errors import ConfigError

SECRET = "s3cret"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "https://api.example.com/proxy/v1", "http://[::1]:80/"]
)
def test_an_address_is_taken_as_it_stands_without_the_space_around(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f" {url}\n")
    assert base_url_in_environment() == url


@pytest.mark.parametrize("url", ["", " \n"])
def test_an_empty_address_is_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    assert base_url_in_environment() is None


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("garbage", "'garbage'"),
        ("127.0.0.1:8000", "'127.0.0.1:8000'"),
        ("ftp://127.0.0.1", "'ftp://127.0.0.1'"),
        ("http://", "'http://'"),
        ("http://127.0.0.1:0", "'http://127.0.0.1:0'"),
        ("http://127.0.0.1:port", "'http://127.0.0.1:port'"),
        ("http://one two", "'http://one two'"),
        ("http://one\ntwo", r"'http://one\ntwo'"),
        (f"http://me:{SECRET}@127.0.0.1", "an @ in it"),
        (f"me:{SECRET}@127.0.0.1", "an @ in it"),
        (f"http://127.0.0.1?key={SECRET}", "a query or a fragment"),
        (f"http://127.0.0.1/v1#{SECRET}", "a query or a fragment"),
    ],
)
def test_anything_else_is_refused_and_no_secret_of_it_shown(
    url: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    with pytest.raises(ConfigError) as caught:
        base_url_in_environment()
    assert str(caught.value).startswith(f"ANTHROPIC_BASE_URL: found {found}")
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_key_is_taken_without_the_line_break_of_the_file_that_it_came_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"{SECRET}\n")
    key = api_key_in_environment()
    assert key is not None
    assert key.get_secret_value() == SECRET
