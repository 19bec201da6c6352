"""Words and patterns of SQL, YAML, TOML, INI, invalid JSON, Dockerfile and Makefile, and names of shell commands."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.languages.evidence import any_case_pattern, names, pattern, raw_pattern, words

WORDS: Final = (
    words("VARCHAR INTEGER VALUES INSERT SELECT WHERE DISTINCT TIMESTAMP REFERENCES CONSTRAINT", sql=1.5),
    words("JOIN INNER OUTER HAVING LIMIT OFFSET UNION COMMIT ROLLBACK COALESCE varchar BIGINT SERIAL", sql=1.5),
    words("FROM TABLE INDEX GROUP ORDER BY INTO AND NOT DESC ASC PRIMARY KEY DEFAULT UNIQUE", sql=0.7),
)

_SQL_PATTERNS: Final = (
    any_case_pattern("select", r"^\(?select\b[^;]{1,600}?\bfrom\s+[\w\"`.\[(#{]", sql=3),
    any_case_pattern("select", r"^\(?select\s+(?:\*|count|distinct|top \d|\d|[\w.\"]+\s*,|[\w.]+\(|@@)", sql=3.5),
    any_case_pattern(
        "insert delete merge replace", r"^(?:insert\s+into|delete\s+from|merge\s+into|replace\s+into)\s+\S", sql=5
    ),
    any_case_pattern("update", r"^update\s+[\w.\"`]+\s+(?:\w+\s+)?set\s", sql=6),
    any_case_pattern(
        "create",
        r"^create\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unique|materialized|external)\s+)?"
        r"(?:table|view|index|database|schema|function|procedure|trigger|user|role|type|sequence|extension)\s",
        sql=6,
    ),
    any_case_pattern(
        "alter drop truncate",
        r"^(?:alter|drop|truncate)\s+"
        r"(?:table|view|index|database|schema|user|column|function|role)\s",
        sql=6,
    ),
    any_case_pattern("with", r"^with\s+(?:recursive\s+)?\w+\s+as\s*(?:materialized\s*)?\(", sql=6),
    any_case_pattern("grant revoke", r"^(?:grant|revoke)\s+[\w, ]+\s+on\s", sql=6),
    any_case_pattern("show", r"^show\s+(?:databases|tables|columns|create|index|variables)", sql=4),
    any_case_pattern("describe use", r"^(?:describe|use)\s+\w+;", sql=4),
    any_case_pattern(
        "explain", r"^explain\s+(?:analyze\s+|\([^)\n]*\)\s+)?(?:select|update|delete|insert|with)\b", sql=6
    ),
    any_case_pattern("by", r"(?:group|order|partition)\s+by\s+[\w\"`(.]", sql=2.5),
    any_case_pattern("join", r"(?:left|inner|right|full|cross|outer)\s+(?:outer\s+)?join\s+\w", sql=3),
    any_case_pattern("where", r"\bwhere\s+[\w.\"`]+\s*(?:=|<|>|!=|in\s*\(|like\s|is\s|between\s)", sql=3),
    any_case_pattern("values count sum primary null", r"values\s*\(|count\(\*\)|sum\(\w|primary key|not null", sql=2.5),
    pattern("--", r"^--$|^-- ?", sql=1),
    any_case_pattern(
        "begin commit rollback start", r"^(?:begin|commit|rollback|start transaction)(?: transaction| work)?;", sql=4
    ),
    any_case_pattern("declare", r"^declare\s+@?\w+\s+\w+", sql=4),
    any_case_pattern("set", r"^set\s+@\w+\s*=", sql=4),
    pattern("CREATE ALTER DROP", r"\n(?:CREATE|ALTER|DROP) [A-Z]+ [^\n]", sql=4),
    pattern("\\", r"\n\\(?:d|dt|l|c|copy|timing|x|echo)\b", sql=4),
    pattern("$$", r"\$\$", sql=2),
    pattern("PRAGMA", r"^PRAGMA \w+", sql=5),
)

# Beside what `weigh_yaml` and `weigh_sections` count line by line.
_SETTINGS_PATTERNS: Final = (
    pattern("---", r"\A\n---\n", yaml=2.5),
    pattern("-", r"^- [\w\"'-]+:(?: |$)", yaml=4),
    pattern(":", r"^(?:- )?[\w-]+:[ \t]*[|>][-+]?$", yaml=7),
    pattern(":", r"\n[\w-]+:[ \t]*(?:#.*)?\n[ \t]+[\w\"'./-]+:(?: |$)", yaml=4),
    pattern(":", r"^[a-z_][\w-]*:[ \t]*(?:#.*)?\n[ \t]*- ", yaml=4),
    pattern(":", r"<<: \*|: &\w+$", yaml=6),
    pattern("apiVersion", r"\napiVersion: ", yaml=6),
    pattern(":", r"^(?:- )?[\w-]+: (?:true|false|yes|no|null|\d[\d.]*|\[[^\n]*\]|\"\"|'')[ \t]*$", yaml=1.5),
    pattern("[[", r"\n\[\[[\w.\"-]+\]\]$", toml=6),
    pattern(
        "[",
        r"\n\[(?:tool|project|package|dependencies|build-system|dev-dependencies|workspace|profile)[.\w\"-]*\]$",
        toml=4,
    ),
    pattern("=", r"\n[\w.-]+ ?= ?\{[^\n]*\}[ \t]*$", toml=2),
    pattern("=", r"\n\w+(?:-\w+)+ = (?:\"\"|true|false|\d|\[)", toml=4),
    pattern("=", r"\n[\w-]+ = (?:true|false)$", toml=3),
    pattern("=", r"\n[\w-]+ ?= ?\d{4}-\d\d-\d\d", toml=4),
    pattern("[", r"\n\[(?:Unit|Service|Install|DEFAULT|mysqld|global|core|remote [^\]\n]*|branch [^\]\n]*)\]$", ini=4),
    pattern(";", r"\n; ", ini=3),
    raw_pattern('"', r'^"[\w$ .@/-]+"[ \t]*:[ \t]*(?:"[^"\n]*"|\d[\d.]*|true|false|null|\[|\{)', json=2),
    raw_pattern('"', r'\A\s*(?:[\[{]\s*){0,3}(?:(?://|/\*)[^\n]*\n\s*)?"[^"\n]*"\s*:', json=6),
)

_RECIPE_PATTERNS: Final = (
    pattern("FROM", r"\nFROM (?:--platform=\S+ )?[\w./:${}@-]+(?: (?:AS|as) [\w.-]+)?[ \t]*$", dockerfile=6),
    pattern("RUN", r"\nRUN \S", dockerfile=7),
    pattern("COPY ADD", r"\n(?:COPY|ADD) (?:--[\w-]+=\S+ )*\S+ \S", dockerfile=5),
    pattern("WORKDIR", r"\nWORKDIR \S", dockerfile=6),
    pattern("ENV", r"\nENV \w+[ =]", dockerfile=5),
    pattern("EXPOSE", r"\nEXPOSE \d", dockerfile=6),
    pattern("CMD", r"\nCMD (?:\[|\S)", dockerfile=5),
    pattern("ENTRYPOINT", r"\nENTRYPOINT (?:\[|\S)", dockerfile=6),
    pattern(
        "ARG LABEL USER VOLUME HEALTHCHECK ONBUILD STOPSIGNAL MAINTAINER SHELL",
        r"\n(?:ARG \w+(?:=|$)|LABEL [\w.\"-]+=|USER \w+$|VOLUME [\[/]|HEALTHCHECK |ONBUILD |STOPSIGNAL |MAINTAINER |"
        r"SHELL \[)",
        dockerfile=4,
    ),
    pattern(":", r"\n[\w./%$()@-]+(?: [\w./%$()@-]+)*[ \t]*::?(?!=)[^\n=;{]*\n\t[ \t]*\S", makefile=7),
    pattern(".PHONY", r"\n\.PHONY[ \t]*:", makefile=9),
    pattern(".", r"\n\.(?:DEFAULT_GOAL|SUFFIXES|DELETE_ON_ERROR|ONESHELL|SILENT|DEFAULT)\b", makefile=9),
    pattern("$(", r"\$\([A-Z_]+[:)]", makefile=3),
    pattern("$(", r"\$\((?:wildcard|shell|patsubst|foreach|subst|filter|dir|notdir|addprefix|call|MAKE)\b", makefile=7),
    pattern("$@ $< $^", r"(?<=\s)\$[@<^](?=\s)", makefile=3),
    pattern("=", r"\n(?:[A-Z][A-Z0-9_]* *[:?]=|\w+ *\?=|\w+ *:= *\$\() ?", makefile=4),
    pattern("=", r"\n[A-Z_]+ = [^\n\"']*$", makefile=2),
    pattern(
        "CC CXX CFLAGS CXXFLAGS LDFLAGS LDLIBS OBJS SRCS TARGET PREFIX",
        r"\n(?:CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|LDLIBS|OBJS|SRCS|TARGET|PREFIX) *[:?+]?= ",
        makefile=4,
    ),
    pattern("ifeq ifneq ifdef ifndef", r"\n(?:ifeq|ifneq|ifdef|ifndef) [(\w\"']", makefile=5),
    pattern("endif", r"\nendif\b", makefile=2),
    pattern("%", r"\n%\.\w+:|: %\.\w+", makefile=6),
    pattern("endef", r"\nendef\b", makefile=6),
    pattern("define", r"\ndefine \w+", makefile=3),
    pattern("@", r"\n\t@\w", makefile=6),
)

PATTERNS: Final = (*_SQL_PATTERNS, *_SETTINGS_PATTERNS, *_RECIPE_PATTERNS)


# --- shell commands, by how certainly a line that begins with one is a command ----------------------------------------

# No English sentence and no statement of another language begins with one of these and a blank.
PROGRAMS: Final = names(
    """
    ./configure ./gradlew ./mvnw 7z 7za a2ensite accelerate adb add-apt-repository adduser airflow alias ansible
    ansible-playbook apachectl apk apt apt-cache apt-get apt-key arduino-cli argocd aria2c arp artisan autoconf
    automake avrdude awk aws az azd bandit base64 basename bazel bcftools beeline bentoml black blkid borg bower
    bq brew buildah bun bwa bzip2 cabal cargo catkin_make cd cdk cdktf celery certbot cf chgrp chmod chown
    chroot cksum clang clang++ clickhouse-client clj cmake colcon composer conan conda configure cookiecutter
    copier cosign cp cpack cpio cqlsh create-react-app createdb createuser crictl crontab ctest ctr curl cvs
    cypress cython dagster dbt dd deepspeed deno df diff dig dirname django-admin django-admin.py dlv dmesg
    dmidecode dnf docker docker-compose doctl dokku dos2unix dotnet dpkg dpkg-reconfigure drush du duckdb dvc eb
    egrep eksctl emacs erl esbuild eslint esptool esptool.py ethtool eval exec exiftool expo fastlane fdisk
    ffmpeg fgrep firebase flake8 flutter flyctl flyte flytectl g++ gawk gcc gcloud gdb gem gh ghci git git-lfs
    gnuplot gofmt golangci-lint gpg gradle gradlew grep groovy groupadd grunt gsutil gunicorn gunzip gzip hadoop
    haproxy hatch hcloud hdfs helm heroku hexdump hg hostname hostnamectl htop htpasswd huggingface-cli hugo
    iconv idf.py ifconfig ifup influx initdb iostat ip iperf3 iptables ipython isort istioctl iw javac jekyll
    jest journalctl jq jupyter k3d k3s k9s kafka-console-producer kafka-topics kafka-topics.sh kaggle kedro
    kompose kotlin kotlinc kubectl kubectx kubens kustomize laravel latexmk launchctl ldd lein lerna linode-cli
    ln localectl locust loginctl ls lsblk lscpu lshw lsof lspci lsusb lz4 mamba md5sum meson minikube mkcert
    mkdir mkdocs mkfs mkfs.ext4 mktemp mlflow mocha modprobe mongo mongodump mongoexport mongorestore mongosh
    mount mpstat mv mvn mvnw mypy mysql mysqldump nano nc ncat nerdctl netlify netplan netstat nextflow ng nginx
    nice nm nmap nmcli nodemon nohup nosetests npm npx nslookup nsys nuitka nvcc nvidia-smi nvm nvtop objdump oc
    od ollama opam openocd openssl openvpn optimum-cli p4 pacman pandoc parted passwd pdflatex pdm pecl pg_ctl
    pg_dump pg_restore php-fpm phpstan phpunit pidstat ping pio pip pip-audit pip-compile pip-sync pip3 pipenv
    pipx platformio playwright pm2 pnpm podman poetry pre-commit prettier printenv ps psql pulumi puma pydoc
    pyenv pyflyte pyinstaller pylint pyright pytest qmake rails rake ranlib rclone readelf rebar3 redis-cli
    renice restic rg rm rmdir rocm-smi ros2 roslaunch rpm rspec rsync rubocop ruff rustc rustdoc rustup sam
    samtools sar sbatch sbt scalac scancel scons scp scrapy scw sed serverless service sftp sha1sum sha256sum sidekiq
    skaffold skopeo snakemake socat spark-submit sphinx-build sphinx-quickstart sqlite3 sqoop squeue srun ssh
    ssh-add ssh-agent ssh-copy-id ssh-keygen stern strace streamlit strings su sudo supabase svelte-kit svn
    swapon swc swiftc symfony sysctl systemctl tar taskset tcpdump tee telnet terraform timedatectl tmux
    torchrun tox traceroute trivy trtexec ts-node tsc tsx twine ufw ulimit umount uname uniq unix2dos unrar
    unset unxz unzip update-alternatives uptime useradd usermod uv uvicorn uvx vagrant valgrind vcpkg vercel vi
    vim virtualenv visudo vite vitest vllm vmstat vue-cli wandb wasm-pack wc webpack wg-quick wget whoami wp
    wrangler xargs xcodebuild xcrun xelatex xxd xz yarn yo yq yt-dlp yum zcat zenml zip zipinfo
    zookeeper-server-start zstd
    """
)
# Also English words or names in code: arguments must follow.
PROGRAMS_OR_WORDS: Final = names(
    """
    R Rscript activate ar at bash bc bg bundle cal cat clear code column consul convert coverage cut date
    deactivate echo elixir env exit export expr false fg file find flask flux free ghc go groups gulp head
    history id iex install invoke java jobs join julia kill killall kind last less look lp lua magick make man
    mix more nest ninja nl node nomad open packer pass paste patch pbcopy perl php pkill pod prefect printf pwd
    py python python2 python3 read return rev rollup route ruby scala screen seq set sh shift sleep snap
    sort source split stack start stat stop subl swift tail test time top touch tr trap tree true turbo type
    umask vault wait watch wg whereis which who xdg-open yes zsh
    """
)
# A single bare name is enough of an argument for these.
TAKING_A_NAME: Final = names(
    """
    bash cat exit java kill killall make man node php python python3 seq sh sleep source touch type whereis which
    """
)
# Commands that are run without arguments.
ALONE: Final = names(
    """
    btop clear cmake date deactivate df env exit gdb history hostname htop id ipython irb jest jobs jupyter ls make
    mypy nano neofetch node npm nvidia-smi poweroff ps psql pwd pytest python python3 reboot redis-server ruff tmux
    top tox uname uptime vim w whoami yarn
    """
)
# First arguments that make a command of an ambiguous name.
SUBCOMMANDS: Final = names(
    """
    activate add all apply artisan bench build check clean clone config create debug deploy dev dist doc docker
    docs down env exec fmt format generate get help init install lint list login logout logs migrate mod new
    pull push release remove restart run serve setup shell start status stop test up update upgrade version vet
    watch
    """
)
