"""Everything that can be wrong with a playbook, one rule each."""
