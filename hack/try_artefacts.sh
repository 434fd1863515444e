#!/usr/bin/env bash
# Makes a project from the built artefacts alone, as somebody does who has nothing but them: hack/try_artefacts.sh FOLDER
set -euo pipefail

dist=$(cd "${1:?the folder with the wheel}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset VIRTUAL_ENV MAKEFLAGS MAKELEVEL

python3 -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet --disable-pip-version-check "$(ls "$dist"/*.whl)[cli]"
export PATH="$work/env/bin:$PATH"

mkdir "$work/sealvm"
cd "$work/sealvm"
pykb init --domain example.com --owner "The authors"
pykb create api --group infra --version v1 --kind Machine --resource --controller
make
make test
