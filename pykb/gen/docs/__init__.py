"""The API reference: a page that describes a project's types to people who write manifests."""
