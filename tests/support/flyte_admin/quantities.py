"""Kubernetes quantities, and requests against limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from flyte_admin.refusals import invalid

_FORM = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)\Z")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def parse_quantity(name: str, text: str) -> Decimal:
    """The number that a quantity stands for."""
    match = _FORM.match(text)
    if not match:
        raise invalid(
            f"Parsing of {name} request failed for value {text} - reason quantities must match the regular expression. "
            "Please follow K8s conventions for resources"
        )
    number, suffix = Decimal(match[1]), match[2]
    if suffix in _BINARY:
        return number * 1024 ** _BINARY[suffix]
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix])
    return number.scaleb(int(suffix[1:]))


def check_resources(requests: Mapping[str, str], limits: Mapping[str, str], platform: Mapping[str, str]) -> None:
    """Refuse what is no quantity, a request over its limit, and either over the platform's."""
    asked = {name: parse_quantity(name, text) for name, text in requests.items()}
    allowed = {name: parse_quantity(name, text) for name, text in limits.items()}
    for name, quantity in asked.items():
        if name in allowed and allowed[name] < quantity:
            raise invalid(
                f"Requested {name} default [{requests[name]}] is greater than the limit [{limits[name]}]. "
                "Please fix your configuration"
            )
    for name, text in platform.items():
        most = max(asked.get(name, Decimal(0)), allowed.get(name, Decimal(0)))
        if most > parse_quantity(name, text):
            raise invalid(
                f"Requested {name} limit [{most}] is greater than current limit set in the platform configuration "
                f"[{text}]. Please contact Flyte Admins to change these limits or consult the configuration"
            )
    gpus = [name for name in (*asked, *allowed) if "gpu" in name.lower()]
    for name in gpus:
        if {asked.get(name), allowed.get(name)} - {None} != {asked.get(name, allowed.get(name))}:
            raise invalid(f"For extended resource '{name}' the default value must equal the limit value")
