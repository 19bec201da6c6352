"""The values that flow between the rooms: frozen pydantic models; no file, network, clock or chance in here."""
