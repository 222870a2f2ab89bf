"""Who does the steps: one engine a process, its flush thread, the pipe of each step."""
