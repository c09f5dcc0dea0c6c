"""The bundled extractors. Every module here is loaded and registers its extractors."""
