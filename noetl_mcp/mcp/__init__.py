"""MCP servers on the official SDK: floor plans."""
