"""Classes and signatures of other platforms, so that graders written for them run unchanged. Loaded by path, too."""
