"""The wire of a Revit server, spoken over a model that is open here: calls, tickets, jobs."""
