"""The generator of the demo data: `python -m tools.demo_data.generate` writes `workbench/data/demo/`."""
