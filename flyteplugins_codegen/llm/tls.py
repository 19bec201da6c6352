"""The certificate authorities that every provider's client trusts, read from the disk once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


@functools.cache
def tls_context() -> ssl.SSLContext:
    """What the clients would each make for themselves, at 18 ms a call. Nobody changes it."""
    import httpx2  # of both providers' clients

    return httpx2.create_ssl_context()
