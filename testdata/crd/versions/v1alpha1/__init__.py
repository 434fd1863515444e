"""One kind in two versions, with a conversion webhook."""
