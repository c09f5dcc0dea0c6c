"""The host's side of the sandbox: workers started, asked, watched and ended; nothing they say is taken on trust."""
