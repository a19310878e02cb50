/** The directions of the code, as rules that fail `npm run check`. */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', comment: 'Two files that need each other are one file, or hide a third.',
      from: {}, to: { circular: true } },
    { name: 'api-and-workers-never-meet', severity: 'error', comment: 'They are separate processes; what both need lives in shared.',
      from: { path: '^src/api' }, to: { path: '^src/(workers|sandbox|admin)' } },
    { name: 'workers-and-api-never-meet', severity: 'error',
      from: { path: '^src/workers' }, to: { path: '^src/(api|sandbox|admin)' } },
    { name: 'shared-is-below', severity: 'error', comment: 'shared never imports the processes that use it.',
      from: { path: '^src/shared' }, to: { path: '^src/(api|workers|admin|sandbox|console)' } },
    { name: 'console-asks-routes-alone', severity: 'error',
      comment: 'What the API takes and answers, the console knows from the list of declarations; types alone, as .oxlintrc.json says.',
      from: { path: '^src/console' }, to: { path: '^src/api', pathNot: '^src/api/routes\\.ts$' } },
    { name: 'pure-files-import-nothing', severity: 'error', comment: 'Rules as data: no database, no queue, no HTTP.',
      from: { path: '^src/shared/(errors|ids|calls/(lifecycle|pricing|media-options))\\.ts$' }, to: { pathNot: '^src/shared/(errors|ids|calls/(lifecycle|pricing|media-options))\\.ts$', dependencyTypesNot: ['core'] } },
    { name: 'ledger-knows-no-calls', severity: 'error', comment: 'The ledger moves credits; why they move is not its business.',
      from: { path: '^src/shared/ledger' }, to: { path: '^src/shared/(calls|accounts|mail)' } },
    { name: 'adapters-know-no-database', severity: 'error', comment: 'An upstream adapter translates; it neither charges nor records.',
      from: { path: '^src/workers/(upstreams|storage)' }, to: { path: '^(src/shared/(db|ledger|accounts|mail|queues)|node_modules/(knex|pg|bullmq|ioredis))' } },
    { name: 'koa-only-in-the-api', severity: 'error',
      from: { path: '^src/(shared|workers|admin)' }, to: { path: 'node_modules/(koa|@koa)/' } },
    { name: 'sandbox-stands-alone', severity: 'error', comment: 'The sandbox is a program of its own: it must not share a bug with what it tests.',
      from: { path: '^src/sandbox' }, to: { path: '^src/(?!sandbox)' } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // The parser knows no TSX.
    exclude: { path: '^dist|[.]tsx$' },
  },
}
