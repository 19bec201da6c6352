# The image that the stages run in on a cluster: this package with its sandbox, and nothing that a model wrote. Candidates
# are judged inside it, in bubblewrap, so it must be allowed user namespaces and a /proc of its own; a finished solution
# runs in an image of its own, and needs neither. In a pod: `hostUsers: false`, and in the container's securityContext
# `procMount: Unmasked` and a seccompProfile and appArmorProfile of type Unconfined. It needs no capability, and writes
# below /srv/flyte, /root and /tmp only. By hand:
#
#   docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
#     --security-opt systempaths=unconfined --cap-drop ALL --rm -it codegen-runner bash
#
# The base image needs `python` with pip; a distribution's own will do. Another index than PyPI, and a certificate that it
# needs, are told by `--secret id=pip,src=pip.conf` and `--secret id=ca,src=ca.pem`, to which that file refers as
# /run/secrets/ca. Neither stays in the image or in its history.
#
#   docker build --tag codegen-runner .
#   docker build --tag codegen-runner --build-arg BASE_IMAGE=python:3.12-slim .

ARG BASE_IMAGE=python:3.11-slim

FROM ${BASE_IMAGE}
# Code of a fast registration is unpacked into the working directory by `pyflyte run --remote`, and into /root by
# `pyflyte register`, unless they are told otherwise. Both must be the user's own.
RUN useradd --uid 1000 --create-home --home-dir /srv/flyte flyte \
 && chown flyte:flyte /root
# The source is only lent for the time of this step: one layer, with what was installed and nothing else.
RUN --mount=type=bind,source=.,target=/build \
    --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca,target=/run/secrets/ca \
    python -m venv --without-pip /opt/codegen \
 && python -m pip --python /opt/codegen/bin/python install --no-cache-dir /build
WORKDIR /srv/flyte
ENV PATH=/opt/codegen/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    FLYTE_CODEGEN_CACHE=/srv/flyte/.cache/codegen
# By number, so that a cluster's `runAsNonRoot` can tell.
USER 1000:1000
