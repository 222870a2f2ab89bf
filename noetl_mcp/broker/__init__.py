"""What is next: executions and their steps, decided from plans and results."""
