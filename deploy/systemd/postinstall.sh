#!/bin/sh
# After the installation or upgrade of the package.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers sluice.conf
elif ! getent passwd sluice >/dev/null; then
	useradd --system --home-dir /var/lib/sluice --shell /usr/sbin/nologin --user-group sluice
fi
chown root:sluice /etc/sluice/sluice.yaml
install -d -m 0700 -o sluice -g sluice /var/lib/sluice
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart sluice.service # an upgrade: the new program takes over, and no message is lost
	systemctl is-enabled --quiet sluice.service || echo "Start the gateway with: sudo systemctl enable --now sluice"
fi
