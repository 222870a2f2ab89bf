"""What a plan is judged by, one family of checks a module; `registry` has them all in order."""
