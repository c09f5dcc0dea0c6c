"""What the judges of one run share: budget, prices, stored answers, and what each server can do."""
