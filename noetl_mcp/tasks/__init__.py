"""With what: the task types, what each may be told and what each may change."""
