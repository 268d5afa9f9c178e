#!/bin/sh
# Makes the passwords and the token of this folder, once. Existing ones stay.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
random() { printf s; head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; } # NATS may take what begins with a digit for a number
for name in token postgres nats; do
	[ -s "secrets/$name" ] || random >"secrets/$name"
done
printf 'postgres://sluice:%s@postgres:5432/sluice?sslmode=disable' "$(cat secrets/postgres)" >secrets/store
nats=$(cat secrets/nats)
printf 'nats://sluice:%s@nats-1:4222,nats://sluice:%s@nats-2:4222,nats://sluice:%s@nats-3:4222' "$nats" "$nats" "$nats" >secrets/bus
printf 'NATS_PASSWORD=%s\n' "$nats" >.env
# The gateways and PostgreSQL run as other users, and read their files from here.
chmod 755 secrets
chmod 644 secrets/token secrets/store secrets/bus secrets/postgres
echo "The owner's token is in secrets/token"
