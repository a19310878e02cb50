/** The directions of the code, as rules that fail `npm run check`. Cycles are refused by the linter (.oxlintrc.json). */

/** The layers of `src/shared`, lowest first (CONTRIBUTING.md): a module imports only modules of lower layers. */
const LAYERS = [
  ['platform'],
  ['terms', 'ledger', 'media', 'media-files'],
  ['requests', 'mail'],
  ['catalogue', 'chat'],
  ['identity'],
  ['calls', 'webhooks', 'action-log'],
  ['replies', 'reports', 'payments', 'sign-in'],
  ['operators', 'queues'],
  ['metrics'],
]

/** One of these modules: a folder, or a file. */
const moduleOf = (names) => `^src/shared/(${names.join('|')})(/|[.]ts$)`

const layerRules = [
  { name: 'every-module-has-a-layer', severity: 'error', comment: 'Add the module to LAYERS.',
    from: { path: '^src/shared/', pathNot: moduleOf(LAYERS.flat()) }, to: {} },
  ...LAYERS.flatMap((names, at) => names.map((name) => ({
    name: `${name}-imports-lower-layers`, severity: 'error',
    from: { path: moduleOf([name]) }, to: { path: '^src/shared/', pathNot: moduleOf([name, ...LAYERS.slice(0, at).flat()]) },
  }))),
]

module.exports = {
  forbidden: [
    { name: 'api-and-workers-never-meet', severity: 'error', comment: 'They are separate processes; what both need lives in shared.',
      from: { path: '^src/api' }, to: { path: '^src/(workers|admin)' } },
    { name: 'workers-and-api-never-meet', severity: 'error',
      from: { path: '^src/workers' }, to: { path: '^src/(api|admin)' } },
    { name: 'shared-is-below', severity: 'error', comment: 'shared never imports the processes that use it.',
      from: { path: '^src/shared' }, to: { path: '^(src/(api|workers|admin|console)|migrations)' } },
    { name: 'pure-files-import-nothing', severity: 'error', comment: 'Rules as data: no database, no queue, no HTTP.',
      from: { path: '^src/shared/(platform/(errors|ids)|terms/(kinds|lifecycle|pricing|media-rows)|requests/(media-options|sizes))\\.ts$' }, to: { pathNot: '^src/shared/(platform/(errors|ids)|terms/(kinds|lifecycle|pricing|media-rows)|requests/(media-options|sizes))\\.ts$', dependencyTypesNot: ['core'] } },
    ...layerRules,
    { name: 'adapters-know-no-database', severity: 'error', comment: 'An upstream adapter translates; it neither charges nor records.',
      from: { path: '^src/workers/(upstreams|storage)' }, to: { path: '^(src/shared/(platform/(postgres|redis)|queues\\.ts|ledger|identity|mail)|node_modules/(knex|pg|bullmq|ioredis))' } },
    { name: 'koa-only-in-the-api', severity: 'error',
      from: { path: '^src/(shared|workers|admin)' }, to: { path: 'node_modules/(koa|@koa)/' } },
    { name: 'telemetry-is-loaded-on-demand', severity: 'error', comment: 'Who sets no endpoint does not pay for the packages.',
      from: { path: '^src/', pathNot: '^src/shared/platform/telemetry/(opentelemetry|metrics)\\.ts$' },
      to: { path: '(^src/shared/platform/telemetry/(opentelemetry|metrics)\\.ts$|node_modules/@opentelemetry/)', dynamic: false } },
    { name: 'sandbox-stands-alone', severity: 'error', comment: 'The sandbox is a program of its own: it must not share a bug with what it tests.',
      from: { path: '^sandbox' }, to: { path: '^(src|scripts|test|bench|migrations)' } },
    { name: 'scripts-use-no-tests', severity: 'error',
      comment: 'Tests and benchmarks may use scripts (what they share is in scripts/harness), never the other way round.',
      from: { path: '^scripts' }, to: { path: '^(test|bench)' } },
    { name: 'bench-and-tests-never-meet', severity: 'error',
      from: { path: '^bench' }, to: { path: '^test' } },
    { name: 'tests-and-bench-never-meet', severity: 'error',
      from: { path: '^test' }, to: { path: '^bench' } },
    { name: 'the-product-knows-no-tools', severity: 'error',
      from: { path: '^src' }, to: { path: '^(sandbox|scripts|test|bench)' } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // The parser knows no TSX. It is in the console alone, the highest layer: test/rules/architecture.test.ts checks
    // that, and what the console may import of the layers below it; the linter finds cycles.
    exclude: { path: '^dist|[.]tsx$' },
  },
}
