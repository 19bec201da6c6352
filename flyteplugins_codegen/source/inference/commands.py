"""Lines that read as commands: a known program first, and what follows it like its arguments."""

from __future__ import annotations

import re
from typing import Final

# No English sentence and no statement of another language begins with these and a blank.
_PROGRAMS: Final = frozenset(
    """
    pip pip3 pipx npm npx yarn pnpm bun git gh docker docker-compose podman buildah kubectl helm minikube terraform ansible
    ansible-playbook vagrant aws gcloud gsutil az heroku flyctl vercel sudo su apt apt-get apk yum dnf pacman brew snap
    dpkg rpm conda mamba uv uvx poetry pipenv pyenv virtualenv nvm rustup cargo rustc gcc g++ clang clang++ cmake javac mvn
    gradle ./gradlew gem bundle rails rake composer artisan php-fpm dotnet curl wget ssh scp sftp rsync ssh-keygen
    ssh-copy-id chmod chown chgrp mkdir rmdir rm cp mv ls cd grep egrep fgrep rg sed awk gawk xargs tar unzip gzip gunzip
    zcat bzip2 ps htop df du lsof netstat ifconfig ping traceroute nslookup dig nmap systemctl journalctl service
    crontab useradd usermod adduser passwd whoami uname hostname uptime nohup tmux nano vim vi emacs jq yq tee wc uniq
    diff md5sum sha256sum base64 openssl ln basename dirname mktemp printenv unset alias eval exec pytest ruff mypy black
    flake8 isort jupyter ipython uvicorn gunicorn flask streamlit celery django-admin tox pre-commit psql mysql sqlite3
    mongo mongosh redis-cli ffmpeg convert pyflyte flytectl ollama huggingface-cli torchrun accelerate nvidia-smi tsc
    sbatch srun squeue scancel flutter hugo jekyll netlify firebase supabase wrangler doctl eksctl skaffold argocd pulumi
    cdk serverless samtools bcftools bwa snakemake nextflow cypress playwright jest vitest mocha nodemon pm2 rake bandit
    ts-node deno eslint prettier vite webpack ng nest expo createdb pg_dump mysqldump iptables ufw mount umount dd fdisk
    lsblk modprobe strace gdb valgrind objdump nm ldd readelf wasm-pack twine telnet rustc rustdoc limactl hatch pdm airflow dvc mlflow dbt kaggle
    """.split()
)
# These are also words of English, or names in code: what follows has to look like arguments.
_WORDS: Final = frozenset(
    """
    python python2 python3 py node java ruby php perl go make ninja find cat head tail sort cut join split touch kill
    pkill killall which whereis time watch more less who date file history clear set export source read echo printf test
    type top man install env open start stop at screen exit return sleep seq yes tr patch code bash sh zsh pwd true false
    wait jobs bg fg id free export umask trap shift cal bc look last groups stat column paste nl rev xdg-open lp
    deactivate activate R Rscript julia lua swift kotlinc scala ghc stack elixir mix iex expr tree subl pbcopy
    """.split()
)
# After a program's name, these tell a sentence about it.
_PROSE: Final = frozenset(
    "is are was were and or the a an has have can will does did up that which makes lets it you i we for in of to".split()
)
# Where one bare name is all the argument that there is to expect.
_TAKES_A_NAME: Final = frozenset("which man whereis touch cat kill killall python python3 node make sh bash source type java sleep exit seq php".split())
_ALONE: Final = frozenset(
    "ls pwd clear history whoami top htop date exit env id w uptime df ps uname hostname deactivate jobs make true pytest tox nvidia-smi jupyter python python3 node docker cmake htop irb psql mypy ruff".split()
)
_SUBCOMMANDS: Final = frozenset(
    """
    run build test install init start stop restart add remove list get create apply update upgrade push pull clone status
    config artisan version help login logout serve deploy exec logs up down mod fmt vet env clean all release check doc bench
    lint format setup dev watch migrate shell new generate dist docs help docker debug
    """.split()
)
_PROMPT: Final = re.compile(r"(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+(?::| )?[^\s$#]{0,60})?[$%#] (?=[\w./~])")
_ASSIGNED: Final = re.compile(r"(?:[A-Za-z_]\w*=(?:\"\"|''|[^\s\"';(){}]*) +)+(?=[\w./])")
_ARGUMENT: Final = re.compile(
    r"(?:^|\s)(?:-{1,2}[A-Za-z0-9]|[.~]{0,2}/|\.(?:\s|$)|\*|\"\"|''|\$[\w({@]|[\w./*-]*\.[a-z0-9]{1,5}(?:\s|$)|[\w.-]+/|>|\||&&)"
)
_CODE: Final = re.compile(r"\s*(?:=|\(|\)|:|,|\.\s|->|\+=|\[\w*\]\s*=)|[^;]*\{\s*$")
_MAX_LINES: Final = 30
_STRONG: Final = 5.0
_WEAK: Final = 3.5


def weigh_commands(lines: tuple[str, ...]) -> float:
    """How strongly these lines, free of strings' contents, read as a shell's commands; 0.0 for not at all."""
    weights = sorted((_weigh_command(line) for line in lines[:_MAX_LINES]), reverse=True)
    return sum(weight / (2**rank) for rank, weight in enumerate(weights[:6]))


def is_prompt(line: str) -> bool:
    """Whether a line is a shell's prompt with a command after it: `$ ls`, `user@host:~/x$ ls`."""
    prompted = line.lstrip()
    return bool(_PROMPT.match(prompted)) and not prompted.startswith(("# ", "% "))


def _weigh_command(line: str) -> float:
    command = line.strip().removeprefix("> ")
    assigned = _ASSIGNED.match(command)
    if assigned:
        command = command[assigned.end() :]
    name, _, rest = command.partition(" ")
    name = name.rstrip(";")
    if not rest:
        return _weigh_alone(name)
    if name not in _PROGRAMS and name not in _WORDS or _CODE.match(rest):
        return 0.0
    first = rest.partition(" ")[0]
    if first in _PROSE and "-" not in rest:
        return 0.0
    if name in _PROGRAMS:
        return _STRONG
    is_argued = bool(_ARGUMENT.search(rest)) or first in _SUBCOMMANDS
    is_argued = is_argued or (name in _TAKES_A_NAME and rest.replace("-", "").isalnum())
    return _WEAK if is_argued and not rest.endswith((";", ":")) or name == "echo" and not rest.endswith(";") else 0.0


def _weigh_alone(name: str) -> float:
    return _WEAK if name in _ALONE else 0.0
