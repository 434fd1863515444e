"""Descriptions, cut."""

from pykb.api import CustomResource, GroupVersion


# +kubebuilder:object:root=true
class Page(CustomResource, group_version=GroupVersion("texts.example.com", "v1")):
    """Page has texts. This sentence is cut away since it is too long."""

    a: str | None = None
    """No sentence end in here but many words follow each other up to the end"""
    b: str | None = None
    """Short."""
    # Ünïcödé çhàrâctérs àré cöûntéd ïn bytés, nöt çhàrs
    c: str | None = None
    # Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    d: str | None = None
    # ```
    # TODO: kept, since it is
    # ```
    e: str | None = None
    # Is it? Yes! And so on, and so on, and so on, and on.
    f: str | None = None
