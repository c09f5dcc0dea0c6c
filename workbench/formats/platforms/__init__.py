"""One module or folder per platform: how its graders are read and written."""
