"""Hostile text on its way to a terminal."""

from __future__ import annotations

import pytest

from duly.cli.printable import lines_safe, one_line, output_safe


def test_text_without_control_characters_stays_as_it_is() -> None:
    assert one_line("Grüße, 日本 🎉 [bold]x[/bold]") == "Grüße, 日本 🎉 [bold]x[/bold]"


def test_an_escape_sequence_shows_as_a_picture() -> None:
    assert one_line("\x1b]0;owned\x07") == "␛]0;owned␇"


def test_in_a_cell_line_breaks_and_tabs_show_too() -> None:
    assert one_line("a\nb\tc\rd") == "a␊b␉c␍d"


@pytest.mark.parametrize("char", [chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))])
def test_no_control_character_reaches_a_cell(char: str) -> None:
    shown = one_line(char)
    assert len(shown) == 1
    assert shown.isprintable()


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\u200f", "\u2028", "\udc80"])
def test_characters_that_reorder_or_cannot_be_written_are_replaced(char: str) -> None:
    assert one_line(f"a{char}b") == "a\ufffdb"


def test_output_keeps_tabs_and_line_breaks() -> None:
    assert lines_safe("a\tb\nc\n") == "a\tb\nc\n"


def test_output_with_windows_line_ends_is_plain_lines() -> None:
    assert lines_safe("a\r\nb\r\n") == "a\nb\n"


def test_a_lone_carriage_return_cannot_overwrite_a_line() -> None:
    assert lines_safe("failed\rok    ") == "failed␍ok    "


def test_output_that_is_no_utf8_shows_replacement_characters() -> None:
    assert output_safe(b"\xff\xfe ok \x9b2J") == "\ufffd\ufffd ok \ufffd2J"
