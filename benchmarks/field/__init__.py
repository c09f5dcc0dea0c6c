"""The field corpus: public reward code by exact version, probed unchanged, its findings read once and signed."""
