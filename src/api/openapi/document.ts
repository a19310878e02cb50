/**
 * The OpenAPI 3.1 document of the whole service, made of the schemas that validate requests and those of the answers.
 */
import { createDocument } from 'zod-openapi'
import type { CreateDocumentOptions, ZodOpenApiPathsObject, oas31 } from 'zod-openapi'
import { errorCodes, messageOf, statusOf } from '../../shared/platform/errors.ts'
import type { Described } from './operation.ts'
import { EVENTS, OPERATORS_EVENTS } from '../endpoint/event-schemas.ts'
import { openApiOperation } from './operation.ts'

const INTRODUCTION = `
A model gateway with prepaid credits. Calls under \`/v1\` carry an API key, the console under \`/api\` a session token,
both as \`Authorization: Bearer …\`; an API key may also be sent as \`x-api-key\`. Every call is charged when it
begins, settled or refunded when it ends, and recorded.

Errors of the gateway are \`{"ok": false, "error": {"type", "message", "param", "code"}}\`, which OpenAI SDKs read;
those of the console \`{"ok": false, "error": "<code>", "message"}\`. Lengths are counted in Unicode code points, times
are UTC. This document for programs: [openapi.json](/openapi.json).
`

const TAGS = [
  { name: 'Models and calls', description: 'The gateway. Needs an API key.' },
  { name: 'Account', description: 'Registration, login, sessions, profile, e-mail verification and password reset.' },
  { name: 'Mail', description: 'How mails are sent.' },
  { name: 'API keys', description: 'The keys of the gateway.' },
  {
    name: 'Organisations',
    description: 'Accounts with several members: who may act for them, and what they may spend.',
  },
  { name: 'Records', description: 'Call records, usage, grants and the ledger.' },
  { name: 'Billing', description: 'Buying credits; only where the operator has set `PAYMENTS`. Redemption codes.' },
  { name: 'Webhooks', description: 'Where an account wants to be told of events.' },
  { name: 'Operators', description: 'For accounts whose role is `admin`; everyone else gets 403.' },
  { name: 'Service', description: 'Results and health.' },
]

/** The document of these endpoints. @param baseUrl the public address of this service */
export function openApiDocument(
  endpoints: readonly Described[],
  baseUrl: string,
  version: string,
): oas31.OpenAPIObject {
  return createDocument(
    {
      openapi: '3.1.1',
      info: { title: 'Tollgate', version, description: `${INTRODUCTION}\n${errorTable()}` },
      servers: [{ url: baseUrl }],
      tags: TAGS,
      paths: pathsOf(endpoints),
      webhooks: webhooksOf(),
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `tg_…`, created by `POST /api/keys`.' },
          apiKeyHeader: {
            type: 'apiKey',
            in: 'header',
            name: 'x-api-key',
            description: "The same key, as Anthropic's clients send it.",
          },
          googleKey: {
            type: 'apiKey',
            in: 'header',
            name: 'x-goog-api-key',
            description: "The same key, as Google's clients send it.",
          },
          googleKeyInQuery: {
            type: 'apiKey',
            in: 'query',
            name: 'key',
            description: 'The same key. Proxies on the way may log it: send a header instead.',
          },
          sessionToken: { type: 'http', scheme: 'bearer', description: 'The `token` of a login, valid for 7 days.' },
          metricsToken: { type: 'http', scheme: 'bearer', description: "The operator's `METRICS_TOKEN`." },
        },
      },
    },
    { override: withoutLongPatterns },
  )
}

/** The format is enough; zod's pattern for a date is a screen long. */
const withoutLongPatterns: CreateDocumentOptions['override'] = ({ jsonSchema }) => {
  if (jsonSchema.format === 'date' || jsonSchema.format === 'date-time') delete jsonSchema.pattern
}

function pathsOf(all: readonly Described[]): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const operation of all) {
    const item = (paths[openApiPath(operation.path)] ??= {})
    item[operation.method] = openApiOperation(operation)
  }
  return paths
}

/** The events, as receivers get them (docs/webhooks.md). */
const webhooksOf = (): ZodOpenApiPathsObject =>
  Object.fromEntries([
    ...EVENTS.map((event) => [event.type, received(event, 'Webhooks')] as const),
    // A type that is sent to accounts, too, has another name here: its data name the account.
    ...OPERATORS_EVENTS.map((event) => [`operators: ${event.type}`, received(event, 'Operators')] as const),
  ])

const received = ({ summary, body }: (typeof EVENTS)[number], tag: string) => ({
  post: {
    tags: [tag],
    summary,
    requestBody: { required: true, content: { 'application/json': { schema: body } } },
    responses: { '2XX': { description: 'It was taken. Everything else is tried again; 410 disables the webhook.' } },
  },
})

/** `/v1/calls/:id` → `/v1/calls/{id}`, `/v1/models/*id` → `/v1/models/{id}`; a verb behind it stays as it is. */
const openApiPath = (path: string): string => path.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}').replace('\\', '')

/** Every error code there is, also those of no endpoint in particular. */
function errorTable(): string {
  const rows = errorCodes().map((code) => `| ${statusOf(code)} | \`${code}\` | ${messageOf(code)} |`)
  const table = ['| HTTP | code | meaning |', '|---|---|---|', ...rows]
  return ['<details><summary>All error codes</summary>', '', ...table, '', '</details>'].join('\n')
}
