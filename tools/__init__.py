"""Programs for the maintainers; the package does not contain them."""
