#!/bin/sh
# Before the package is removed: "remove" for dpkg, 0 for rpm. An upgrade keeps the service.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now sluice.service || true
	fi
	;;
esac
