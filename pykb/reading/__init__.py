"""Readers of external text. For any text, a reader returns data or raises one type of error."""
