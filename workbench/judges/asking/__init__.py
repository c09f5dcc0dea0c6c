"""What the judges of one run share: budget, prices, stored replies, and the capabilities of each server."""
