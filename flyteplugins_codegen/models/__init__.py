"""The values that flow between the rooms: frozen pydantic models, written as JSON."""
