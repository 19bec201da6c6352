"""A stand-in for `buildctl`: it reads the command line that a buildkitd's client has, and lets buildah build.

It refuses what it does not know, so that no option is passed that the real one would have to be trusted to take.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys


def main() -> None:
    parser = argparse.ArgumentParser(prog="buildctl", allow_abbrev=False)
    parser.add_argument("--addr", required=True)
    commands = parser.add_subparsers(required=True)
    build = commands.add_parser("build", allow_abbrev=False)
    build.add_argument("--progress", choices=["plain"])
    build.add_argument("--frontend", choices=["dockerfile.v0"], required=True)
    for name in ("--local", "--opt", "--secret", "--output"):
        build.add_argument(name, action="append", default=[])
    given = parser.parse_args()
    local, options = pairs(given.local), pairs(given.opt)
    (output,) = (pairs(text.split(",")) for text in given.output)
    assert local["dockerfile"] == local["context"]
    assert output["type"] == "image"
    secrets = [part for secret in given.secret for part in ("--secret", secret)]
    recipe = f"{local['dockerfile']}/{options['filename']}"
    layers = ("--layers", "--timestamp", options["build-arg:SOURCE_DATE_EPOCH"])
    run("build", "--runtime", "runc", *layers, *secrets, "--file", recipe, "--tag", output["name"], local["context"])
    if output["push"] == "true":
        run("push", f"--tls-verify={output.get('registry.insecure') != 'true'}".lower(), output["name"])


def pairs(texts: list[str]) -> dict[str, str]:
    return dict(text.split("=", 1) for text in texts)


def run(*arguments: str) -> None:
    if status := subprocess.call([shutil.which("buildah") or "buildah", *arguments]):
        sys.exit(status)


if __name__ == "__main__":
    main()
