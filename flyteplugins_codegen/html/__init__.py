"""The HTML kit that every report is made with."""
