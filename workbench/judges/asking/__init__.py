"""What the judges of one run share: budget, prices, kept answers, and what is known of each server."""
