#!/bin/sh
# Installs the program sluice for this machine: downloads the archive of a release, checks it against the release's
# checksums, and puts the program, the manual pages and the completions in their places. It changes nothing else.
#
#   curl -fsSL https://…/install.sh | sh
#
# SLUICE_VERSION   the version, such as 1.2.3; in an install.sh of a release, the default is that release
# SLUICE_BASE_URL  the address of the folder with the files of the release, https:// or file://
# PREFIX           where to install; default: /usr/local for root, else ~/.local
set -eu

version="${SLUICE_VERSION:-}"
base="${SLUICE_BASE_URL:-}"

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

[ -n "$version" ] || fail "set SLUICE_VERSION to the version to install, such as 1.2.3"
version="${version#v}"
[ -n "$base" ] || fail "set SLUICE_BASE_URL to the address of the folder with the files of the release"
base="${base%/}"

case "$(uname -s)" in
Linux) system=linux ;;
Darwin) system=darwin ;;
*) fail "there is no program for $(uname -s): on Windows, unpack the zip of the release" ;;
esac
case "$(uname -m)" in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
armv7* | armv8l) arch=armv7 ;;
*) fail "there is no program for the processor $(uname -m)" ;;
esac
name="sluice_${version}_${system}_${arch}"

if [ -z "${PREFIX:-}" ]; then
	if [ "$(id -u)" = 0 ]; then PREFIX=/usr/local; else PREFIX="$HOME/.local"; fi
fi

mkdir -p "$PREFIX/bin" && [ -w "$PREFIX/bin" ] || fail "$PREFIX/bin can't be written to: set PREFIX to a folder of yours, or run this as root"

work=$(mktemp -d "${TMPDIR:-/tmp}/sluice-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fetch() { # ADDRESS FILE
	case "$1" in
	file://*) cp "${1#file://}" "$2" ;;
	https://* | http://127.0.0.1[:/]* | http://localhost[:/]*)
		if command -v curl >/dev/null 2>&1; then
			curl -fsSL --retry 3 -o "$2" "$1"
		elif command -v wget >/dev/null 2>&1; then
			wget -q -O "$2" "$1"
		else
			fail "install curl or wget first"
		fi
		;;
	*) fail "$1: only https:// and file:// addresses are used" ;;
	esac || fail "$1 can't be read"
}

sum() { # FILE
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1" | cut -d ' ' -f 1
	elif command -v shasum >/dev/null 2>&1; then
		shasum -a 256 "$1" | cut -d ' ' -f 1
	elif command -v openssl >/dev/null 2>&1; then
		openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
	else
		fail "install sha256sum, shasum or openssl first: without one, the download can't be checked"
	fi
}

fetch "$base/SHA256SUMS" "$work/SHA256SUMS"
fetch "$base/$name.tar.gz" "$work/$name.tar.gz"
want=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$work/SHA256SUMS")
[ -n "$want" ] || fail "SHA256SUMS has no line for $name.tar.gz: is the version right?"
have=$(sum "$work/$name.tar.gz")
[ "$want" = "$have" ] || fail "the checksum of $name.tar.gz is wrong (want $want, have $have): nothing was installed"

tar -xzf "$work/$name.tar.gz" -C "$work" || fail "$name.tar.gz can't be unpacked into $work: nothing was installed"
from="$work/$name"
"$from/sluice" version >/dev/null ||
	fail "the program does not run on this machine: nothing was installed. If $work is on a disk without programs (noexec), set TMPDIR to another folder"

mkdir -p "$PREFIX/share/man/man1" "$PREFIX/share/bash-completion/completions" \
	"$PREFIX/share/zsh/site-functions" "$PREFIX/share/fish/vendor_completions.d" "$PREFIX/share/doc/sluice"
# A program that runs can't be written to, but it can be replaced.
cp "$from/sluice" "$PREFIX/bin/.sluice.new"
chmod 755 "$PREFIX/bin/.sluice.new"
mv -f "$PREFIX/bin/.sluice.new" "$PREFIX/bin/sluice"
cp "$from"/man/*.1 "$PREFIX/share/man/man1/"
cp "$from/completions/sluice.bash" "$PREFIX/share/bash-completion/completions/sluice"
cp "$from/completions/_sluice" "$PREFIX/share/zsh/site-functions/_sluice"
cp "$from/completions/sluice.fish" "$PREFIX/share/fish/vendor_completions.d/sluice.fish"
cp "$from/LICENSE" "$from/LICENSES" "$PREFIX/share/doc/sluice/"

echo "Installed $("$PREFIX/bin/sluice" version) as $PREFIX/bin/sluice"
case ":$PATH:" in
*":$PREFIX/bin:"*) run=sluice ;;
*) run="$PREFIX/bin/sluice" ;;
esac
echo "Start the gateway with: $run serve"
echo "Or as a service:        $run service install"
