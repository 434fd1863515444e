"""The errors for text that is not the expected value."""

from __future__ import annotations

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers._lexer import Lexer, Token, TokenKind
from pykb.markers._problem import MarkerSyntaxError, Problem

DELIMITERS = {"", ",", ";", "}"}
"""The characters that end a bare value. The empty string is the end of the marker."""


def require_sound(token: Token) -> None:
    """Raise an error if a token is malformed.

    Raises:
        MarkerSyntaxError: A quote is not closed, or a number is malformed.
    """
    if token.flaw:
        raise MarkerSyntaxError(
            Problem(MARKER_ARGUMENT, token.start, token.end, f"{token.flaw} in `{token.text}`", label="starts here")
        )


def expected(what: str, lexer: Lexer, start: int, token: Token) -> MarkerSyntaxError:
    """An error that shows the whole word found in place of the expected value."""
    if token.kind is TokenKind.END:
        return MarkerSyntaxError(
            Problem(
                MARKER_ARGUMENT, start, start + 1, f"expected {what}, found the end of the marker", label="ends here"
            )
        )
    end = token.end
    while end < len(lexer.text) and token.text not in DELIMITERS and lexer.text[end] not in " ,;}":
        end += 1
    hint: tuple[str, ...] = ()
    if token.text == "-" and lexer.text[end : end + 1].isdigit():
        hint = ("a `-` is only read directly after `=`, `;`, `{` or `:`: remove the blank before it",)
    found = lexer.text[start:end]
    if found[:1] in {'"', "'"} and len(found) > 2:
        hint = (f"write it without quotes: `{found.strip(found[0])}`",)
    return MarkerSyntaxError(
        Problem(MARKER_ARGUMENT, start, end, f"expected {what}, found `{found}`", label=f"expected {what}", help=hint)
    )
