"""What it means: a playbook becomes a plan, by named passes."""
