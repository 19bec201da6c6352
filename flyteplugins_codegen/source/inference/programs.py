"""Names of programs, by how surely a line that begins with one is a command."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.inference.evidence import names

# No English sentence and no statement of another language begins with these and a blank.
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
# These are also words of English, or names in code: what follows has to look like arguments.
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
# One bare name is all the argument that these need.
TAKING_A_NAME: Final = names(
    """
    bash cat exit java kill killall make man node php python python3 seq sh sleep source touch type whereis which
    """
)
# These say something on their own.
ALONE: Final = names(
    """
    btop clear cmake date deactivate df env exit gdb history hostname htop id ipython irb jest jobs jupyter ls make
    mypy nano neofetch node npm nvidia-smi poweroff ps psql pwd pytest python python3 reboot redis-server ruff tmux
    top tox uname uptime vim w whoami yarn
    """
)
SUBCOMMANDS: Final = names(
    """
    activate add all apply artisan bench build check clean clone config create debug deploy dev dist doc docker
    docs down env exec fmt format generate get help init install lint list login logout logs migrate mod new
    pull push release remove restart run serve setup shell start status stop test up update upgrade version vet
    watch
    """
)
