"""A Flyte control plane on loopback: `flyteidl`'s own services over gRPC, and the object store behind its data proxy.

    with FlyteAdmin() as admin:
        admin.write_config(home)                 # then, with HOME=home: pyflyte register, pyflyte run --remote, ...
        remote = admin.remote()                  # or a FlyteRemote in this process
        ...
        admin.tasks, admin.workflows             # what is registered, oldest first, as flyteidl's own messages
        admin.launch_plans, admin.executions     # a plan's `closure.state` says whether it is active
        admin.objects["s3://bucket/..."]         # the bytes of an upload
        admin.calls                              # the names of the methods asked for, in order
        admin.finish(name, {"o0": literal})      # end an execution well; without outputs and with `error`, badly

There are the projects and domains that it is made with, `flytesnacks` in development, staging and production. Nothing
is executed: an execution runs until `finish`. `FlyteAdmin(token="...")` answers UNAUTHENTICATED to whoever does not
bring that token; `write_config` then has the command that prints it.

What a real one refuses, this one refuses, with the same status and nearly the same words (read in the source of
Flyte 1.16): ids, versions and projects; task types, interfaces, images, quantities, requests over limits and over the
platform's limits (`limits`), pods without their primary container; nodes whose task, workflow or launch plan is not
registered, bindings that are missing, unknown or of another type, cycles; a launch plan's inputs, schedule and
notifications; an execution's inputs. What is registered is immutable: the same again is ALREADY_EXISTS, another
structure under the same id INVALID_ARGUMENT. It is stricter in two places: of a pod, fields that Kubernetes does not
know are refused too, which a cluster would ignore; and so is a task that the project's image could not start, whose
pods would die (`runner_image.py`).
"""

from __future__ import annotations

from flyte_admin.server import FlyteAdmin

__all__ = ["FlyteAdmin"]
