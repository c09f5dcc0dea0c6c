"""What formats share: reading strangers' documents, places in them, losses, writing."""
