"""Reading a plan's text: a parser by hand that goes on after errors and says what was expected."""
