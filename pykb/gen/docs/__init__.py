"""The API reference: the types of a project as a page for the people who write manifests."""
