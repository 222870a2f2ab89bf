"""Where it is kept: submitted playbooks, their versions and plans, and credentials."""
