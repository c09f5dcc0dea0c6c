"""Datasets: samples and their readers, extractors, templates, the demo."""
