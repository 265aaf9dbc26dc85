"""The client against a server that exists only here."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from duly.sdk import ApiError, Client, Job, Run, ServerUnreachable
from duly.wire.jobs import JobDocument
from duly.wire.runs import RunDocument, RunWithTries


def client(answer: Callable[[httpx.Request], httpx.Response], url: str = "http://duly") -> Client:
    return Client(url, "secret", transport=httpx.MockTransport(answer))


def test_a_list_follows_its_pages_to_the_end() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.params.get("after") == "j2":
            return httpx.Response(200, json=[{"id": "j3"}])
        link = '</jobs?after=j2&limit=200>; rel="next"'
        return httpx.Response(200, json=[{"id": "j1"}, {"id": "j2"}], headers={"Link": link})

    with client(answer) as duly:
        assert [job["id"] for job in duly.jobs()] == ["j1", "j2", "j3"]


def test_a_link_elsewhere_does_not_take_the_token_along() -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        link = {} if len(asked) > 1 else {"Link": '<http://evil/jobs?after=j1>; rel="next"'}
        return httpx.Response(200, json=[], headers=link)

    with client(answer) as duly:
        list(duly.jobs())
    assert asked == ["http://duly/jobs?limit=200", "http://duly/jobs?after=j1"]


def test_filters_without_a_value_are_left_out() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert dict(request.url.params) == {"limit": "200", "name": "a&b"}
        return httpx.Response(200, json=[])

    with client(answer) as duly:
        assert list(duly.jobs(name="a&b", state=None)) == []


def test_a_name_with_slashes_stays_one_part_of_the_path() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.raw_path == b"/prefix/runs/..%2Fjobs/output"
        return httpx.Response(200, content=b"\xff\x00")

    with client(answer, "http://duly/prefix/") as duly:
        assert duly.output("../jobs") == b"\xff\x00"


def test_a_refusal_carries_the_problem_document() -> None:
    problem = {"title": "Not found", "status": 404, "detail": "there is no job j9"}
    with (
        client(lambda _: httpx.Response(404, json=problem)) as duly,
        pytest.raises(ApiError, match="there is no job j9") as caught,
    ):
        duly.job("j9")
    assert (caught.value.status, caught.value.problem) == (404, problem)


def test_a_proxys_page_is_told_by_its_status() -> None:
    with (
        client(lambda _: httpx.Response(502, text="<html>")) as duly,
        pytest.raises(ApiError, match="the server said: Bad Gateway"),
    ):
        duly.status()


@pytest.mark.parametrize("text", ["<html>", "", "{}"])
def test_an_answer_that_is_no_list_comes_from_no_duly(text: str) -> None:
    with (
        client(lambda _: httpx.Response(200, text=text)) as duly,
        pytest.raises(ServerUnreachable, match="is not Duly"),
    ):
        list(duly.jobs())


def test_a_server_that_is_not_there_is_named_with_the_way_to_start_it() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    with (
        client(answer) as duly,
        pytest.raises(ServerUnreachable, match=r"no server answers at http://duly .* `duly up`"),
    ):
        duly.status()


def test_a_request_goes_out_once_with_token_and_key() -> None:
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.headers["authorization"], request.headers.get("idempotency-key")))
        return httpx.Response(201, json={"id": "j1"})

    with client(answer) as duly:
        assert duly.add_job({"name": "a"}, key="k1")["id"] == "j1"
    assert seen == [("Bearer secret", "k1")]


def test_the_client_names_the_fields_that_the_api_sends() -> None:
    # The client stands alone, so both lists exist; they are one.
    assert set(Job.__annotations__) == set(JobDocument.__annotations__)
    assert set(Run.__annotations__) == set(RunWithTries.__annotations__) | set(
        RunDocument.__annotations__
    )
