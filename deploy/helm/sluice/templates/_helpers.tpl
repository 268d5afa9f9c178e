{{- define "sluice.name" -}}
{{ .Values.fullnameOverride | default (printf "%s-%s" .Release.Name (.Values.nameOverride | default "sluice") | replace "sluice-sluice" "sluice") | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sluice.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* Whether the state is outside of the pods. */ -}}
{{- define "sluice.outside" -}}
{{- if and .Values.secrets.store.name .Values.secrets.bus.name }}yes{{ end }}
{{- end }}

{{- define "sluice.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not (include "sluice.outside" .)) }}
{{- fail "replicas: several gateways need secrets.store (PostgreSQL) and secrets.bus (NATS)" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.secrets.token.name) }}
{{- fail "replicas: several gateways need the same token: set secrets.token" }}
{{- end }}
{{- if and .Values.secrets.bus.name (not .Values.secrets.store.name) }}
{{- fail "secrets.bus: a NATS cluster needs PostgreSQL: set secrets.store" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.token.name) }}
{{- fail "serviceMonitor.token: /metrics needs a token: name a secret with one of gateway.tokens" }}
{{- end }}
{{- end }}

{{- /* The configuration, with the references to the chart's own secrets. */ -}}
{{- define "sluice.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $gateway := $config.gateway | default dict }}
{{- $_ := set $gateway "listen" "0.0.0.0:8484" }}
{{- /* Names under which other pods and the ingress reach it. */ -}}
{{- $name := include "sluice.name" . }}
{{- $hosts := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) }}
{{- if .Values.ingress.enabled }}{{ $hosts = append $hosts .Values.ingress.host }}{{ end }}
{{- $_ := set $gateway "allowedHosts" (concat ($gateway.allowedHosts | default list) $hosts | uniq) }}
{{- if .Values.secrets.token.name }}{{ $_ := set $gateway "token" "${SLUICE_GATEWAY_TOKEN}" }}{{ end }}
{{- $_ := set $config "gateway" $gateway }}
{{- if .Values.secrets.store.name }}{{ $_ := set $config "store" (dict "url" "${SLUICE_STORE_URL}") }}{{ end }}
{{- if .Values.secrets.bus.name }}{{ $_ := set $config "bus" (dict "url" "${SLUICE_BUS_URL}") }}{{ end }}
{{- toYaml $config }}
{{- end }}

{{- define "sluice.env" -}}
- { name: SLUICE_CONFIG, value: /etc/sluice/sluice.yaml }
- { name: GOMEMLIMIT, valueFrom: { resourceFieldRef: { resource: limits.memory } } }
{{- range $name, $of := dict "SLUICE_GATEWAY_TOKEN" .Values.secrets.token "SLUICE_STORE_URL" .Values.secrets.store "SLUICE_BUS_URL" .Values.secrets.bus }}
{{- if $of.name }}
- { name: {{ $name }}, valueFrom: { secretKeyRef: { name: {{ $of.name | quote }}, key: {{ $of.key | quote }} } } }
{{- end }}
{{- end }}
{{- range $name, $of := .Values.secrets.env }}
- { name: {{ $name }}, valueFrom: { secretKeyRef: { name: {{ $of.name | quote }}, key: {{ $of.key | quote }} } } }
{{- end }}
{{- end }}

{{- define "sluice.container" -}}
image: {{ include "sluice.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
env: {{- include "sluice.env" . | nindent 2 }}
{{- end }}

{{- define "sluice.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}
