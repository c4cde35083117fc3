"""Messages wait for a page, but neither too many nor too large ones."""

from __future__ import annotations

from creases.show.studio._outbox import MAX_QUEUED, TOO_SLOW, Outbox


def drain(page: Outbox) -> list:
    return [page.get_nowait() for _ in range(page.qsize())]


def test_messages_come_out_in_order_and_a_close_code_last():
    page = Outbox(100)
    page.send("a")
    page.send(b"b")
    page.close(1001)
    page.send("c")
    page.close(1013)
    assert drain(page) == ["a", b"b", 1001]


def test_a_page_with_too_many_messages_waiting_is_disconnected_and_holds_no_memory():
    page = Outbox(10**6)
    for _ in range(MAX_QUEUED):
        page.send("{}")
    assert page.qsize() == MAX_QUEUED
    for _ in range(5):
        page.send("{}")
    assert drain(page) == [TOO_SLOW]


def test_a_page_with_too_many_bytes_waiting_is_disconnected_but_one_large_message_goes_out():
    page = Outbox(100)
    page.send(bytes(1000))
    assert drain(page) == [bytes(1000)]
    page.send(bytes(60))
    assert drain(page) == [bytes(60)]
    page.send(bytes(60))
    page.send(bytes(60))
    assert drain(page) == [TOO_SLOW]
