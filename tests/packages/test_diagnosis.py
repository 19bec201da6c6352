"""Messages of an older uv, which draws another frame; test_lock.py has those of the installed one, from real runs."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.errors import IndexUnavailableError, PackageError
from flyteplugins_codegen.packages.resolve import explain_failure

UNKNOWN = """  \u00d7 No solution found when resolving dependencies:
  ╰─▶ Because nope-nope-nope-zz was not found in the package registry and
      you require nope-nope-nope-zz, we can conclude that your requirements
      are unsatisfiable.
"""
NO_WHEEL = """  \u00d7 No solution found when resolving dependencies:
  ╰─▶ Because all versions of docopt have no usable wheels and you require
      docopt, we can conclude that your requirements are unsatisfiable.

      hint: Wheels are required for `docopt` because building from source is
      disabled for all packages (i.e., with `--no-build`)
"""
NEEDED_BY_ANOTHER = """  \u00d7 No solution found when resolving dependencies:
  ╰─▶ Because deep-thing was not found in the package registry and top==1.0 depends on deep-thing, we can
      conclude that top==1.0 cannot be used. And because you require top, ...
"""
UNAUTHORIZED = """error: No solution found when resolving dependencies
  cause: Because six was not found in the package registry and you require six, we can conclude that ...

hint: An index URL could not be queried due to a lack of valid authentication credentials (401 Unauthorized).
"""


@pytest.mark.parametrize(
    ("said", "requirements", "package", "message"),
    [
        (UNKNOWN, ("nope-nope-nope-zz", "six"), "nope-nope-nope-zz", "no such distribution"),
        (NO_WHEEL, ("docopt>=0.6",), "docopt", "package docopt>=0.6: only wheels"),
        (NEEDED_BY_ANOTHER, ("top",), "deep-thing", r"deep-thing \(needed by top\)"),
    ],
)
def test_the_package_to_blame_is_found_behind_the_frame_of_an_older_uv(said, requirements, package, message):
    error = explain_failure(said, requirements)
    assert isinstance(error, PackageError)
    assert error.package == package
    with pytest.raises(PackageError, match=message):
        raise error


def test_an_index_that_refuses_us_is_not_the_candidates_fault():
    assert isinstance(explain_failure(UNAUTHORIZED, ("six",)), IndexUnavailableError)


def test_a_long_reason_keeps_its_beginning_and_its_end():
    reason = "Because a==1 depends on b>2 " + "and so on " * 500 + "and because you require b<2."
    error = explain_failure(f"error: No solution found\n  cause: {reason}", ("a", "b<2"))
    assert len(str(error)) < 1000
    assert "Because a==1 depends on b>2" in str(error)
    assert "and because you require b<2." in str(error)
