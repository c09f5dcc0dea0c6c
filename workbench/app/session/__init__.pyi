from . import trial as trial
