#!/bin/sh
# After the package was removed. The configuration and the state stay, unless dpkg purges the package.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/sluice /etc/sluice
fi
