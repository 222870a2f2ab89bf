"""The forms playbooks are written in, each turned into the one form of the model."""
