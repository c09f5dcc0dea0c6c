"""One folder a platform: how its graders are read and written, and what belongs to them."""
