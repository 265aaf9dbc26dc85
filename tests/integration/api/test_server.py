"""Through a real HTTP server: what an in-process client cannot send."""

from __future__ import annotations

import json
import socket

import httpx

BODY = json.dumps({"schedule": "every 5 minutes", "command": {"shell": "true"}}).encode()


def ask(address: tuple[str, int], request: bytes) -> tuple[int, bytes]:
    """Send raw bytes; the status and all that came back until the server closed."""
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return int(answer.split(b" ", 2)[1]), answer


def post(token: str, *headers: str, path: str = "/jobs") -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


def test_a_body_in_chunks_is_read(address: tuple[str, int], token: str) -> None:
    head = post(token, "Transfer-Encoding: chunked")
    status, answer = ask(address, head + chunked(BODY[:10], BODY[10:]))
    assert (status, b'"id":"j1"' in answer) == (201, True)


def test_a_large_body_in_chunks_is_refused(address: tuple[str, int], token: str) -> None:
    head = post(token, "Transfer-Encoding: chunked")
    status, answer = ask(address, head + chunked(*[b" " * 65536] * 20))
    assert status == 413
    assert b"application/problem+json" in answer


def test_a_large_body_is_refused_and_the_client_learns_why(
    address: tuple[str, int], token: str
) -> None:
    url = f"http://127.0.0.1:{address[1]}/jobs"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = httpx.post(url, content=b" " * 5_000_000, headers=headers, trust_env=False)
    assert answer.status_code == 413
    assert "1048576 bytes" in answer.json()["detail"]


def test_a_body_announced_as_huge_is_not_waited_for(address: tuple[str, int], token: str) -> None:
    status, _ = ask(address, post(token, "Content-Length: 99999999999"))
    assert status == 413


def test_a_key_twice_is_refused(address: tuple[str, int], token: str) -> None:
    """A004"""
    head = post(token, "Idempotency-Key: a", "Idempotency-Key: b", f"Content-Length: {len(BODY)}")
    assert ask(address, head + BODY)[0] == 400


def test_a_host_twice_or_none_is_refused(address: tuple[str, int], token: str) -> None:
    """A011"""
    assert ask(address, post(token, "Host: localhost", "Content-Length: 0"))[0] == 400
    without = post(token, "Content-Length: 0").replace(b"Host: localhost\r\n", b"")
    assert ask(address, without)[0] == 400
    old = without.replace(b"HTTP/1.1", b"HTTP/1.0")
    assert ask(address, old)[0] == 400


def test_a_post_without_a_body_needs_no_type(address: tuple[str, int], token: str) -> None:
    head = post(token, f"Content-Length: {len(BODY)}")
    assert ask(address, head + BODY)[0] == 201
    bare = post(token, path="/jobs/j1/run").replace(b"Content-Type: application/json\r\n", b"")
    assert ask(address, bare)[0] == 202
    empty = post(token, "Content-Length: 0", path="/jobs/j1/pause")
    assert ask(address, empty)[0] == 200


def test_a_connection_serves_many_requests(address: tuple[str, int], token: str) -> None:
    base = f"http://127.0.0.1:{address[1]}"
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=base, headers=headers, trust_env=False) as client:
        refs = [client.post("/jobs", json=json.loads(BODY)).json()["id"] for _ in range(5)]
        assert client.post(
            "/jobs", content=b"{", headers={"Content-Type": "application/json"}
        ).is_error
        assert [job["id"] for job in client.get("/jobs").json()] == refs
