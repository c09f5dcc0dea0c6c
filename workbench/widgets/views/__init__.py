"""The widgets of our own that panels are made of: chart, table, reader, label card. Their scripts are in static/."""
