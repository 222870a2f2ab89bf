"""What is written: YAML text, its positions, and the validated model of a playbook."""
