"""How models are spoken to: what is asked, what they say, the wires in between. Sends nothing."""
