"""A session as the page shows it: plain JSON, named as in the front end's `protocol.ts`. It does not depend on widgets."""
