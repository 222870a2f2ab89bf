"""User Python in interpreters of its own: reused while nothing changes, ended when in doubt."""
