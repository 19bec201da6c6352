"""Building the image of a solution as a Flyte task of its own, with what the builder printed in its Deck.

In a pod, what builds is a buildkitd at `BUILDKIT_HOST`, by `buildctl` of the task's image. Whoever registers by
`register_solution`, or `generate` with `register`, needs no such node: registering builds.
"""

from __future__ import annotations

from flytekit import Deck, task

from flyteplugins_codegen.flyte.launching import launchable
from flyteplugins_codegen.flyte.readable import logger, readable_errors
from flyteplugins_codegen.models.image import BuiltImage
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.stages.report.markup import facts, fitting, folded, log, seconds
from flyteplugins_codegen.stages.report.page import as_frame, render_document

_MOST_LOG_CHARS = 1 << 18


@launchable
@task(enable_deck=True, deck_fields=())
@readable_errors
def build_image(result: CodeGenEvalResult, push: bool = True) -> BuiltImage:  # noqa: FBT001, FBT002 - an option of `pyflyte run`
    """Build a result's image by its image_config; what is there already is not built again.

    Args:
        result: a result that came to success
        push: send it to the registry of image_config
    """
    built = result.build_image(push=push)
    show_image(built)
    return built


def show_image(built: BuiltImage) -> None:
    """Say what was built, and lay its log into the Deck of the task that this runs in."""
    how = "was there" if built.was_there else f"built in {seconds(built.seconds)}"
    logger.info("image %s %s", built.name, how)
    Deck("Image", as_frame(render_image(built, how)))


def render_image(built: BuiltImage, how: str) -> str:
    """The image as a page in the report's style, with all of its build log."""
    name = fitting(built.name, 400)
    about = facts((("Digest", f"<code>{fitting(built.digest, 200)}</code>" if built.digest else ""), ("Image", how)))
    told = folded("What the builder printed", log(built.log, _MOST_LOG_CHARS), is_open=True)
    return render_document(name, f"<header><h1>{name}</h1>{about}</header>", [("Build log", told)])
