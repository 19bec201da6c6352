"""What the tests' code calls by its constants: confirmations, and looks at what is compared. All are sealed."""

from __future__ import annotations

from operator import ge, gt, le, lt

from flyteplugins_codegen.sandbox.suites.suite_runner.decoys import SCALARS
from flyteplugins_codegen.sandbox.suites.suite_runner.equality import (
    wrong_with_class,
    wrong_with_comparison,
    wrong_with_membership,
    wrong_with_order,
)
from flyteplugins_codegen.sandbox.suites.suite_runner.sealing import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    Tamper: TypeAlias = Callable[[str], None]


def calls_for_tests(
    send: Callable[..., None], tamper: Tamper, look: Callable[[], list[str]], **rest: Any
) -> dict[str, Any]:
    """The functions that `rewriting.compile_tests` puts into the code.

    `look` tells what is not as it was of what assertions rest on. `rest` are `owner_of`, which tells whose a function
    is, `is_of_tests`, which tells of an object that the tests made it to be equal to more than itself, `is_judged`,
    which tells whether this is the process that is judged and not a fork of it, and `end`, which ends it.
    """
    owner_of, is_of_tests = rest["owner_of"], rest["is_of_tests"]

    def told(wrong: str) -> None:
        if wrong:
            tamper(wrong)

    def looked() -> None:
        told("; ".join(look()))

    def compared(left: Any, right: Any) -> None:
        told(wrong_with_comparison(left, right, owner_of, is_of_tests))

    def contained(member: Any, container: Any) -> None:
        told(wrong_with_membership(member, container, owner_of, is_of_tests))

    def arranged(left: Any, right: Any) -> None:
        told(wrong_with_order(left, right, owner_of))

    def classed(value: Any) -> None:
        told(wrong_with_class(value, owner_of))

    calls: dict[str, Any] = {
        "confirm": sealed(confirm, send=send, looked=looked),
        "failed": sealed(failed, send=send),
        "same": sealed(same, compared=compared, scalars=SCALARS),
        "differ": sealed(differ, compared=compared, scalars=SCALARS),
        "within": sealed(within, contained=contained),
        "without": sealed(without, contained=contained),
        "ordered": sealed(ordered, arranged=arranged, orders={"lt": lt, "le": le, "gt": gt, "ge": ge}),
        "pair": sealed(pair, compared=compared),
        "plain": sealed(plain, classed=classed),
        "sound": sealed(sound, looked=looked),
    }
    return {**calls, "own": sealed(own, calls=dict(calls), is_judged=rest["is_judged"], end=rest["end"])}


def confirm(name: str, token: str, *, send: Callable[..., None], looked: Callable[[], None]) -> None:
    """Say that a test came to its end, with what its assertions rest on as it was."""
    looked()
    send("confirmed", "name", name, "token", token)


def failed(*, send: Callable[..., None]) -> None:
    """Say that an assertion of a test failed, whatever becomes of the exception."""
    send("assertion_failed")


def own(
    kind: str, *operands: Any, calls: Mapping[str, Any], is_judged: Callable[[], bool], end: Callable[[], None]
) -> Any:
    """Compare in a test's own body: in the process that is judged, and not in one that tries answers out."""
    __tracebackhide__ = True
    if not is_judged():
        end()
    return calls[kind](*operands)


def same(left: Any, right: Any, *, compared: Callable[[Any, Any], None], scalars: frozenset[type]) -> Any:
    """`left == right`."""
    __tracebackhide__ = True
    if type(left) not in scalars or type(right) not in scalars:
        compared(left, right)
    return left == right


def differ(left: Any, right: Any, *, compared: Callable[[Any, Any], None], scalars: frozenset[type]) -> Any:
    """`left != right`."""
    __tracebackhide__ = True
    if type(left) not in scalars or type(right) not in scalars:
        compared(left, right)
    return left != right


def within(member: Any, container: Any, *, contained: Callable[[Any, Any], None]) -> bool:
    """`member in container`."""
    __tracebackhide__ = True
    contained(member, container)
    return member in container


def without(member: Any, container: Any, *, contained: Callable[[Any, Any], None]) -> bool:
    """`member not in container`."""
    __tracebackhide__ = True
    contained(member, container)
    return member not in container


def ordered(
    order: str, left: Any, right: Any, *, arranged: Callable[[Any, Any], None], orders: Mapping[str, Any]
) -> Any:
    """`left < right`, or by another name of an order."""
    __tracebackhide__ = True
    arranged(left, right)
    return orders[order](left, right)


def pair(left: Any, right: Any, *, compared: Callable[[Any, Any], None]) -> tuple[Any, Any]:
    """The first two arguments of an `assert...` method."""
    __tracebackhide__ = True
    compared(left, right)
    return left, right


def sound(value: Any, *, looked: Callable[[], None]) -> Any:
    """A module or a test, in which something is about to be looked up."""
    __tracebackhide__ = True
    looked()
    return value


def plain(value: Any, *, classed: Callable[[Any], None]) -> Any:
    """The first argument of `isinstance`."""
    __tracebackhide__ = True
    classed(value)
    return value
