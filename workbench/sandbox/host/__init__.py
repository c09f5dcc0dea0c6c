"""The host's side of the sandbox: it starts, watches and ends workers, and checks every answer before it is used."""
