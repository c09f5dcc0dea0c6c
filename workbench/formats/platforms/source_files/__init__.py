"""Python modules and JavaScript files."""
