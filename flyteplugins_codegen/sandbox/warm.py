"""Warm workers: jobs in processes forked from an interpreter that has its modules imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from flyteplugins_codegen.sandbox.cgroups import Cgroup
from flyteplugins_codegen.sandbox.contract import APP, Job
from flyteplugins_codegen.sandbox.held import HeldJob
from flyteplugins_codegen.sandbox.warm_child import Order, fork_job
from flyteplugins_codegen.sandbox.warm_kinds import kind_of
from flyteplugins_codegen.sandbox.warm_request import Rights, render_request
from flyteplugins_codegen.sandbox.warm_start import ZygoteSandbox
from flyteplugins_codegen.sandbox.warm_zygotes import Zygotes


class WarmWorkers:
    """The zygotes of a sandbox, which run nothing before the first job. Safe to use from several threads."""

    def __init__(self, sandbox: ZygoteSandbox) -> None:
        self._sandbox = sandbox
        self._zygotes = Zygotes(sandbox.start)

    @contextmanager
    def held(self, job: Job, rights: Rights, group: Cgroup | None) -> Iterator[HeldJob | None]:
        """The job in a process of that group that waits, ended with the block; None where its command is not there.

        Raises OSError where no process can be had, and at the end of the block where it was lost with its zygote: then
        the job is to be run again.
        """
        request = render_request(job, {**self._sandbox.env, **job.env, "PWD": APP}, rights)
        with self._zygotes.lent(kind_of(job)) as (kind, zygote), ExitStack() as stack:
            order = Order(len(kind.command), request, group.entries(stack) if group else ())
            held = fork_job(zygote, job, order, stack)
            if held and group and not order.entries:
                group.add(held.first)
            yield held
            if held and not held.watch.report.kept and zygote.has_ended():
                raise ConnectionResetError("a zygote ended while one of its jobs was running")

    def close(self) -> None:
        """End the zygotes and what still runs in them."""
        self._zygotes.close()
