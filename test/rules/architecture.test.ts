import { expect } from 'chai'
import { dirname, join } from 'node:path'
import { places, sourcesOf } from './source.ts'
import type { Source } from './source.ts'

/** The place of the SQL of each table. */
const HOMES: Record<string, string> = {
  usage_hours: 'src/shared/reports/',
  usage_watermark: 'src/shared/reports/',
  users: 'src/shared/identity/',
  accounts: 'src/shared/identity/',
  members: 'src/shared/identity/',
  api_keys: 'src/shared/identity/',
  invitations: 'src/shared/identity/',
  budgets: 'src/shared/identity/',
  budget_windows: 'src/shared/identity/',
  import_sources: 'src/shared/identity/',
  import_origins: 'src/shared/identity/',
  sessions: 'src/shared/identity/',
  login_networks: 'src/shared/identity/',
  sign_in_tickets: 'src/shared/identity/',
  totp_secrets: 'src/shared/sign-in/',
  recovery_codes: 'src/shared/sign-in/',
  passkeys: 'src/shared/sign-in/',
  passkey_challenges: 'src/shared/sign-in/',
  identities: 'src/shared/sign-in/',
  provider_attempts: 'src/shared/sign-in/',
  pending_identities: 'src/shared/sign-in/',
  login_links: 'src/shared/sign-in/',
  one_time_tokens: 'src/shared/identity/',
  grants: 'src/shared/ledger/',
  ledger_entries: 'src/shared/ledger/',
  calls: 'src/shared/calls/',
  call_results: 'src/shared/calls/',
  call_tries: 'src/shared/calls/',
  passing_answers: 'src/shared/replies/',
  uploads: 'src/shared/requests/',
  price_versions: 'src/shared/terms/',
  mails: 'src/shared/mail/',
  mailbox_mails: 'src/shared/mail/',
  mailbox_gifts: 'src/shared/mail/',
  leases: 'src/shared/platform/postgres/leases.ts',
  operator_actions: 'src/shared/action-log/',
  circuit_openings: 'src/shared/operators/',
  banners: 'src/shared/operators/',
  disabled_upstream_keys: 'src/shared/operators/',
  catalogue_versions: 'src/shared/catalogue/',
  payments: 'src/shared/payments/',
  payment_events: 'src/shared/payments/',
  payment_refunds: 'src/shared/payments/',
  payment_reversals: 'src/shared/ledger/',
  forgiven_debts: 'src/shared/ledger/',
  deductions: 'src/shared/ledger/',
  redemption_codes: 'src/shared/payments/',
  redemptions: 'src/shared/payments/',
  billing_settings: 'src/shared/payments/',
  customers_to_forget: 'src/shared/payments/',
  webhooks: 'src/shared/webhooks/',
  webhook_deliveries: 'src/shared/webhooks/',
  webhook_tries: 'src/shared/webhooks/',
  grant_notices: 'src/shared/webhooks/',
}

/**
 * Which other places may name a table, and why. Of these, only the ledger writes the balance, and payments what an
 * account wants to be told of or topped up at.
 */
const GUESTS: Record<string, string[]> = {
  usage_hours: ['src/shared/ledger/usage-invariants.ts'],
  // Records are deleted once they are folded.
  usage_watermark: ['src/shared/ledger/usage-invariants.ts', 'src/shared/calls/retention.ts'],
  // An account's row holds its balance and is locked by everything that moves it; the audit reads everything.
  accounts: [
    'src/shared/ledger/ledger.ts',
    'src/shared/ledger/audit.ts',
    'src/shared/ledger/import-invariants.ts',
    'src/shared/operators/accounts.ts',
    'src/shared/payments/',
    // An account's row says whether it has webhooks.
    'src/shared/webhooks/webhooks.ts',
  ],
  catalogue_versions: ['src/shared/ledger/audit.ts'],
  members: ['src/shared/action-log/', 'src/shared/operators/', 'src/shared/payments/'],
  // Members are shown with their address.
  users: [
    'src/shared/action-log/',
    'src/shared/operators/',
    'src/shared/catalogue/versions.ts',
    'src/shared/payments/',
  ],
  // The queue of that name is none.
  payments: ['src/shared/ledger/audit.ts', 'src/shared/queues.ts'],
  webhooks: ['src/shared/queues.ts', 'src/workers/webhooks/round-places.ts'],
  redemption_codes: ['src/shared/ledger/audit.ts'],
  redemptions: ['src/shared/ledger/audit.ts'],
  mailbox_gifts: ['src/shared/ledger/audit.ts'],
  // Reports read, and write nothing.
  calls: [
    'src/shared/reports/',
    'src/shared/replies/',
    'src/shared/requests/uploads.ts',
    'src/shared/ledger/audit.ts',
    'src/shared/ledger/usage-invariants.ts',
    'src/shared/identity/summary.ts',
  ],
  call_tries: ['src/shared/reports/'],
  call_results: ['src/shared/reports/', 'src/shared/replies/', 'src/shared/ledger/audit.ts'],
  passing_answers: ['src/shared/reports/'],
  // A call that goes on with another model is the first of that price, perhaps.
  price_versions: ['src/shared/ledger/audit.ts', 'src/shared/calls/listed-models.ts'],
  // When an account called last, its keys know.
  api_keys: ['src/shared/ledger/audit.ts', 'src/shared/operators/accounts.ts'],
  budgets: ['src/shared/ledger/audit.ts'],
  budget_windows: ['src/shared/ledger/audit.ts'],
  import_origins: ['src/shared/ledger/import-invariants.ts', 'src/shared/ledger/audit.ts'],
  // A link is spent together with its mail.
  mails: ['src/shared/identity/one-time-tokens.ts'],
}

/** What of the server the console may have as code: it is pure. Of everything else it may import types. */
const SHARED_WITH_BROWSERS = [
  'terms/kinds',
  'platform/fields',
  'terms/pricing',
  'terms/shown-price',
  'requests/media-options',
  'requests/sizes',
  'reports/margin-csv',
  'terms/currencies',
  'terms/failures',
  'terms/languages',
].map((name) => `src/shared/${name}.ts`)

/** The files of this repository that a source file imports. `isType`: it imports types alone. */
function importsOf({ path, code }: Source): { path: string; isType: boolean }[] {
  const imported = /^(?:import|export) (type\b)?(?:[^'"`;]*? from )?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm
  return Array.from(code.matchAll(imported), ([, type, whole, lazy]) => ({
    path: join(dirname(path), (whole ?? lazy)!),
    isType: type !== undefined,
  }))
}

/** Code that runs on the server: the console's pages run in browsers. */
const isOurs = ({ path }: Source): boolean => !path.startsWith('src/console/')

describe('the architecture', () => {
  const all = sourcesOf('src').filter(isOurs)
  const compiled = [...all, ...sourcesOf('sandbox')]
  const outside = (...homes: string[]): Source[] =>
    all.filter(({ path }) => !homes.some((home) => path.startsWith(home)))

  it('reads the environment in one file', () => {
    expect(places(outside('src/shared/platform/config/config.ts'), /\bprocess\.env\b/)).to.deep.equal([])
  })

  it("writes to the console from the operator's command alone", () => {
    // What libraries write there is taken over in one place.
    expect(
      places(outside('src/admin/', 'src/shared/platform/process/warnings.ts'), /(?<!['./])\bconsole\.\w/),
    ).to.deep.equal([])
  })

  it("keeps each table's SQL in the one folder that owns it", () => {
    for (const [table, home] of Object.entries(HOMES)) {
      const named = new RegExp(
        `\\('${table}'\\)|[jJ]oin\\('${table}'|'${table} as \\w+'|\\b(?:FROM|JOIN|INTO|UPDATE|TABLE) ${table}\\b`,
      )
      expect(places(outside(home, ...(GUESTS[table] ?? [])), named), table).to.deep.equal([])
      expect(places(all, named), `${table} is used at all`).not.to.deep.equal([])
    }
  })

  it('knows the place of every table of the migrations', () => {
    const tables = sourcesOf('migrations').flatMap(({ code }) =>
      [...code.matchAll(/CREATE TABLE (\w+)/g)].map(([, table]) => table),
    )
    // Only migrate uses its own table, and only a trigger (sql/notify_of_budget.sql) that of the marks of budgets.
    expect(tables).to.have.members([...Object.keys(HOMES), 'applied_sql', 'budget_notices'])
  })

  it("lets nobody but the verbs write a call's status, and nobody but ledger and calls move credits", () => {
    const writers = places(
      outside(
        'src/shared/calls/calls.ts',
        'src/shared/calls/leases.ts',
        'src/shared/calls/listed-models.ts',
        'src/shared/reports/call-records.ts',
        'src/shared/calls/refusal-records.ts',
        'src/shared/calls/numbered-retries.ts',
        'src/shared/calls/statements.ts',
        'src/shared/calls/retention.ts',
        'src/shared/calls/videos.ts',
      ),
      /\b(?:UPDATE|INTO|DELETE FROM) calls\b|\('calls'\)[^\n]*\.(?:update|insert|delete)\(/,
    )
    expect(writers).to.deep.equal([])
    expect(
      places(
        outside('src/shared/ledger/ledger.ts'),
        /\b(?:UPDATE|INTO|DELETE FROM) (?:grants|ledger_entries)\b|\bSET credits\b|update\(\{ credits/,
      ),
    ).to.deep.equal([])
  })

  it('gives HTTP statuses their meaning in the catalogue of errors and beside routes alone', () => {
    // Statuses that upstreams, buckets and downloads answer, and the worker's health server, which is a route itself.
    const foreign = [
      'src/workers/upstreams/',
      'src/workers/fetching/',
      'src/workers/health-server.ts',
      'src/shared/media/bucket.ts',
      'src/shared/operators/key-check.ts',
    ]
    const status = /\b(?:status|statusCode|httpStatus|http_status)\b\W{1,12}[1-5]\d\d\b|writeHead\([1-5]\d\d/
    // The dialects' forms of the errors of the catalogue.
    const ofDialects = ['src/shared/chat/messages/errors.ts', 'src/shared/chat/responses/errors.ts']
    const others = outside('src/shared/platform/errors.ts', ...ofDialects, 'src/api/', ...foreign)
    expect(places(others, status)).to.deep.equal([])
  })

  it('requires a docstring of every exported function and class', () => {
    const bare = compiled.flatMap(({ path, text }) => {
      const lines = text.split('\n')
      return lines.flatMap((line, at) => {
        const isFunction =
          /^export (?:async )?function|^export (?:abstract )?class /.test(line) ||
          /^export const \w+(?:: [^=]+)? = (?:async )?\(?[\w{,\s:.<>[\]}|']*\)?(?::[^=]+)? =>/.test(line)
        const before = lines[at - 1] ?? ''
        return isFunction && !/\*\/\s*$/.test(before) && !/^export (?:async )?function/.test(before)
          ? [`${path}:${at + 1} ${line.slice(0, 100)}`]
          : []
      })
    })
    expect(bare).to.deep.equal([])
  })

  it('gives browsers no code of the server but pure rules, and of the API the types of its routes alone', () => {
    const isAllowed = (path: string, isType: boolean): boolean =>
      path.startsWith('src/console/') ||
      SHARED_WITH_BROWSERS.includes(path) ||
      (isType && (path === 'src/api/routes.ts' || path.startsWith('src/shared/')))
    const foreign = sourcesOf('src/console').flatMap((source) =>
      importsOf(source)
        .filter(({ path, isType }) => !isAllowed(path, isType))
        .map(({ path }) => `${source.path} imports ${path}`),
    )
    expect(foreign).to.deep.equal([])
    const planted =
      "import { a } from '../../api/endpoint/auth.ts'\nimport type { B } from '../../api/web.ts'\nimport('./c.ts')"
    expect(importsOf({ path: 'src/console/pages/x.tsx', text: '', code: planted })).to.deep.equal([
      { path: 'src/api/endpoint/auth.ts', isType: false },
      { path: 'src/api/web.ts', isType: true },
      { path: 'src/console/pages/c.ts', isType: false },
    ])
  })

  it('has .tsx, which the import check cannot read, in the console alone, which nothing else imports', () => {
    const files = sourcesOf('src').filter(({ path }) => path.endsWith('.tsx'))
    expect(files.filter(isOurs).map(({ path }) => path)).to.deep.equal([])
    const upward = all.flatMap((source) => importsOf(source).filter(({ path }) => path.startsWith('src/console/')))
    expect(upward).to.deep.equal([])
  })

  it('has no TypeScript loader in what production runs', () => {
    expect(places(compiled, /\btsx\b|ts-node|swc-node/)).to.deep.equal([])
  })
})
