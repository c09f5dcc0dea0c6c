"""A session as the page shows it: plain JSON, named as in the front end's `protocol.ts`. Nothing here knows a widget."""
