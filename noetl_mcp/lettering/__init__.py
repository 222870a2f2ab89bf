"""Letters in pictures: the bundled font, how wide text is, how it is made to fit, and PNG."""
