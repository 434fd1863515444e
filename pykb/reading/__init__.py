"""Text from outside as data. Whatever the text is, a reader gives data or the one error of its language."""
