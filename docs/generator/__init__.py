"""The reference pages, one module for each kind of thing they tell of."""
