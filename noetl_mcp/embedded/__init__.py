"""The embedded Postgres: found, made, started, shared by its users and stopped after the last."""
