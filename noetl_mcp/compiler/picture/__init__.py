"""The steps as a picture: one layout for SVG, PNG and text, and Mermaid beside it."""
