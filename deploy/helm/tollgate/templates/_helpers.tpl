{{/* What all objects of a release are called. */}}
{{- define "tollgate.name" -}}
{{- if contains "tollgate" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-tollgate" (.Release.Name | trunc 31 | trimSuffix "-") }}{{ end }}
{{- end }}

{{/* The labels that select pods. They must never change: those of a Deployment are fixed. */}}
{{- define "tollgate.selector" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The metadata of an object. Takes `root`, and optionally `name` or `suffix`, `component`, `labels`, `annotations`. */}}
{{- define "tollgate.metadata" -}}
name: {{ .name | default (include "tollgate.name" .root) }}{{ with .suffix }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "tollgate.selector" .root | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Annotations of an object that exists only while the migrations before an installation or upgrade run. */}}
{{- define "tollgate.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "tollgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "tollgate.name" .) }}
{{- else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{/* The metadata and the security of a pod. Takes `root` and `component`. */}}
{{- define "tollgate.podMetadata" -}}
labels:
  {{- include "tollgate.selector" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "tollgate.podDefaults" -}}
automountServiceAccountToken: false
# Variables of Services in the namespace, such as HEALTH_PORT of one called health, are not settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Pods of a component spread over zones and nodes. Takes `root` and `component`. */}}
{{- define "tollgate.spread" -}}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: {{ $.root.Values.topologySpread }}
    labelSelector:
      matchLabels:
        {{- include "tollgate.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
  {{- end }}
{{- end }}

{{- define "tollgate.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* The addresses of Postgres and Redis, from their Secrets. */}}
{{- define "tollgate.connections" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.secret | default .Values.existingSecret }}
      key: {{ .Values.database.key }}
- name: REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.redis.secret | default .Values.existingSecret }}
      key: {{ .Values.redis.key }}
{{- end }}

{{/* The environment of web and workers. Takes `root`, and `settings` of the component. What the chart sets itself wins. */}}
{{- define "tollgate.environment" -}}
envFrom:
  - secretRef:
      name: {{ .root.Values.existingSecret }}
env:
  {{- include "tollgate.connections" .root | nindent 2 }}
  {{- $own := dict "NODE_ENV" "production" "BASE_URL" .root.Values.baseUrl "STORAGE_URL" .root.Values.storage.url }}
  {{- range $name, $value := merge $own .settings .root.Values.settings }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- end }}

{{/* What is writable: temporary files of forms, and the folder of results and mails where no bucket and no mail server is set. */}}
{{- define "tollgate.mounts" -}}
- name: tmp
  mountPath: /tmp
- name: data
  mountPath: /app/.data
{{- if .Values.storage.existingClaim }}
- name: media
  mountPath: /app/.data/media
{{- end }}
{{- if .Values.filesSecret }}
- name: files
  mountPath: /app/files
  readOnly: true
{{- end }}
{{- end }}

{{- define "tollgate.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 1Gi }
- name: data
  emptyDir: { sizeLimit: 1Gi }
{{- with .Values.storage.existingClaim }}
- name: media
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- with .Values.filesSecret }}
- name: files
  secret:
    secretName: {{ . }}
{{- end }}
{{- end }}

{{/*
/healthz is about the process alone: it is never restarted because Postgres or Redis is away. A process whose event loop
does not turn ends itself after 25 s, before the liveness probe gives up.
*/}}
{{- define "tollgate.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 4
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 5
  timeoutSeconds: 4
  failureThreshold: 2
{{- end }}

{{/* Rules for what pods may reach: DNS, Postgres, Redis, and https outside of private networks and of metadata services. */}}
{{- define "tollgate.egress" -}}
{{- $policy := .Values.networkPolicy }}
{{- $outside := list
  (dict "ipBlock" (dict "cidr" "0.0.0.0/0" "except" (list "169.254.0.0/16")))
  (dict "ipBlock" (dict "cidr" "::/0" "except" (list "fe80::/10" "fd00:ec2::/32" "fd20:ce::/32"))) -}}
- to:
    {{- toYaml $policy.dns | nindent 4 }}
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- range list $policy.postgres $policy.redis }}
- to:
    {{- toYaml (.to | default $outside) | nindent 4 }}
  ports:
    - { protocol: TCP, port: {{ .port }} }
{{- end }}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
    - ipBlock:
        cidr: ::/0
        except: ['::1/128', 'fc00::/7', 'fe80::/10']
  ports:
    {{- range $policy.upstreamPorts }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- with $policy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* A trigger of KEDA. Takes `root`, `type` of the metric, `threshold` and `query`. */}}
{{- define "tollgate.trigger" -}}
- type: prometheus
  metricType: {{ .type }}
  metadata:
    serverAddress: {{ .root.Values.keda.serverAddress }}
    query: {{ .query | squote }}
    threshold: {{ .threshold | quote }}
    # No value is an error, not a reason to remove workers.
    ignoreNullValues: 'false'
    {{- with .root.Values.keda.authModes }}
    authModes: {{ . }}
    {{- end }}
  {{- with .root.Values.keda.triggerAuthentication }}
  authenticationRef: { name: {{ . }} }
  {{- end }}
{{- end }}
