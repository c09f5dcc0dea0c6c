"""Classes and signatures of other platforms, so that graders written for them run as they are. Loaded by path, too."""
