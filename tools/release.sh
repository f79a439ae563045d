#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/release.sh [DIR]: build what a release consists of into DIR (build/release): a tarball of the program, a Debian and an RPM package, the
# wheel for Python, the sources, the bill of materials, a file for containers, checksums. RELEASING.md says what each one is for.
#
# From a commit, without changes: the same commit, compilers and packages give the same bytes in any folder. Everything is built in
# build/release-target, apart from what `make build` made; `CARGO_TARGET_DIR` is honoured.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=${1:-build/release}

missing=()
for tool in git cargo cc make dpkg-deb dpkg-shlibdeps rpmbuild python3 gzip sha256sum; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
[[ -e /usr/lib/$(cc -print-multiarch)/libelf.a ]] || missing+=(libelf.a)
[[ -e /usr/lib/$(cc -print-multiarch)/libz.a ]] || missing+=(libz.a)
if ((${#missing[@]})); then
	echo "release: missing: ${missing[*]}" >&2
	echo "release: on Debian, as root: apt-get install git build-essential dpkg-dev rpm python3-venv libelf-dev zlib1g-dev" >&2
	exit 1
fi
if [[ -n $(git status --porcelain) ]]; then
	echo "release: there are changes that no commit has; a release is built from a commit (git stash, or commit them)" >&2
	exit 2
fi

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
umask 022
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/build/release-target}
home=${CARGO_HOME:-$HOME/.cargo}
# No path of this machine in what is built: not in Rust's messages, not in C's, not in names of sections.
export RUSTFLAGS="--remap-path-prefix=$home=/cargo --remap-path-prefix=$CARGO_TARGET_DIR=/target --remap-path-prefix=$root=/runweir"
export CFLAGS="-ffile-prefix-map=$home=/cargo -ffile-prefix-map=$CARGO_TARGET_DIR=/target -ffile-prefix-map=$root=/runweir"
read -ra mapped <<<"$CFLAGS"
# Where libbpf-sys finds the archives that go into the program.
LIBBPF_SYS_LIBRARY_PATH=/usr/lib/$(cc -print-multiarch)
export LIBBPF_SYS_LIBRARY_PATH

rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --locked --release --package runweir --package weir-linux --features weir-linux/static
cargo build --locked --package weir-glue
program=$CARGO_TARGET_DIR/release/runweir
version=$("$program" --version | sed -n '1s/^runweir \([0-9.]*\).*/\1/p')
machine=$(uname -m)
needs=$(ldd "$program" | awk '{ print $1 }' | grep -vE 'linux-vdso|ld-linux|^lib(c|m|gcc_s|dl|pthread|rt)\.so' || true)
if [[ $needs ]]; then
	echo "release: the program needs more than the C library: $needs" >&2
	exit 1
fi
# Relative paths within, the same in each folder.
"$CARGO_TARGET_DIR/debug/weir-glue" plain . >"$work/weir_unit.c"
runtimes/threads/build.sh "$work/weir_unit.c" "$work/threads" "${mapped[@]}" "-ffile-prefix-map=$work=/target"
strip --strip-debug --enable-deterministic-archives "$work"/threads/*.{a,so} "$work"/threads/weir-{cpus,doctor}

pack() { # FOLDER FILE: an archive without names, numbers and times of this machine
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$(dirname "$1")" -cf - "$(basename "$1")" | gzip -9n >"$2"
}

# --- a folder that runs anywhere -------------------------------------------------------------------

name=runweir-$version-$machine-linux
tree=$work/$name
tools/install.sh "$program" "$tree" "$work/threads" >/dev/null
for file in $(git ls-files topologies machines workloads scenarios packages); do
	install -D -m 644 "$file" "$tree/share/runweir/$file"
done
for file in core/include/weir/*.h core/port/native/weir/port.h; do
	install -D -m 644 "$file" "$tree/include/weir/$(basename "$file")"
done
for file in LICENSE LICENSES/*.txt README.md CHANGELOG.md SECURITY.md CAVEATS.md $(git ls-files 'docs/*.md'); do
	install -D -m 644 "$file" "$tree/share/doc/runweir/$file"
done
pack "$tree" "$out/$name.tar.gz"

# --- packages ---------------------------------------------------------------------------------------

tools/deb.sh "$program" "$out" "$work/threads"

# The files of the Debian package are those of the other one; what is only Debian's stays there.
mkdir -p "$work/rpm/root"
dpkg-deb -x "$out"/runweir_*.deb "$work/rpm/root"
rm -f "$work"/rpm/root/usr/share/doc/runweir/changelog.gz
{
	cat <<SPEC
Name: runweir
Version: $version
Release: 1
Summary: CPU schedulers made of components, simulated and live
License: MIT OR GPL-2.0-only
BuildRoot: $work/rpm/root
%define _buildhost reproducible
%define _build_id_links none
%define __os_install_post %{nil}
%define source_date_epoch_from_changelog 0
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%description
Runweir builds CPU schedulers out of components joined by pipes. A policy is written once and runs unchanged in a deterministic simulator with
thousands of CPUs and in the running Linux kernel, through sched_ext.
%install
mkdir -p %{buildroot}
cp -a $work/rpm/root/. %{buildroot}
%files
SPEC
	(cd "$work/rpm/root" && find . -type f -printf '/%P\n' | sort | sed 's|^/etc/|%config(noreplace) /etc/|')
} >"$work/rpm/runweir.spec"
rpmbuild -bb --quiet --define "_topdir $work/rpm/top" --define "_rpmdir $work/rpm/out" --define "_tmppath $work/rpm" --buildroot "$work/rpm/build" "$work/rpm/runweir.spec" >&2
cp "$work"/rpm/out/*/runweir-*.rpm "$out"

tools/python.sh build --release
cp build/python/runweir-*.whl "$out"

# --- sources and what is in them ----------------------------------------------------------------------

git archive --format=tar --prefix="runweir-$version/" HEAD | gzip -9n >"$out/runweir-$version.tar.gz"

# The version is fixed here: the form of the file is part of what is the same each time.
[[ -x build/tools/bin/cargo-cyclonedx ]] || RUSTFLAGS='' cargo install --quiet --locked cargo-cyclonedx --version 0.5.7 --root build/tools
tar -xzf "$out/runweir-$version.tar.gz" -C "$work"
(cd "$work/runweir-$version" && "$root/build/tools/bin/cargo-cyclonedx" cyclonedx --quiet --manifest-path crates/runweir/Cargo.toml --format json --spec-version 1.5 --override-filename runweir)
# Its number is random, its time now, its names hold the folder: they follow from the commit here.
python3 - "$work/runweir-$version" "$(git rev-parse HEAD)" >"$out/runweir-$version.cdx.json" <<'BOM'
import datetime, json, os, sys, uuid
folder, commit = sys.argv[1:]
text = open(folder + "/crates/runweir/runweir.json").read().replace(folder, "/runweir")
bom = json.loads(text)
bom["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_OID, commit).urn
at = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
bom["metadata"]["timestamp"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
json.dump(bom, sys.stdout, indent=2)
print()
BOM

cat >"$out/Containerfile" <<CONTAINER
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# podman build -t runweir . && podman run --rm runweir run decentral
FROM docker.io/library/debian:12-slim
COPY $(basename "$out"/runweir_*.deb) /tmp/
RUN apt-get update && apt-get install --yes --no-install-recommends /tmp/runweir_*.deb && rm -rf /tmp/runweir_*.deb /var/lib/apt/lists/*
ENTRYPOINT ["runweir"]
CONTAINER

touch -d "@$SOURCE_DATE_EPOCH" "$out"/*
(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
echo "built in $out:"
(cd "$out" && stat -c '  %n %s' -- *)
