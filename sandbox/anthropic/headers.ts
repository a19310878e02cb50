import type { IncomingHttpHeaders } from 'node:http'
import type { Fields } from '../wire.ts'
import { invalid } from './refusals.ts'

/** Source: the list of the API's own SDK, and what Claude Code sends. */
const KNOWN: ReadonlySet<string> = new Set([
  'advanced-tool-use-2025-11-20',
  'claude-code-20250219',
  'compact-2026-01-12',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'effort-2025-11-24',
  'extended-cache-ttl-2025-04-11',
  'fast-mode-2026-02-01',
  'files-api-2025-04-14',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'mcp-client-2025-11-20',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-tool-changes-2026-07-01',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'per-turn-control-2026-07-01',
  'prompt-caching-2024-07-31',
  'prompt-caching-scope-2026-01-05',
  'server-side-fallback-2026-07-01',
  'structured-outputs-2025-11-13',
  'thinking-display-updates-2026-08-18',
  'thinking-token-count-2026-05-13',
  'token-efficient-tools-2025-02-19',
])

/** Fields that the API knows only with a beta. */
const NEEDED: Readonly<Record<string, string>> = {
  context_management: 'context-management-2025-06-27',
  fallbacks: 'server-side-fallback-2026-07-01',
  mcp_servers: 'mcp-client-2025-11-20',
}

/**
 * The betas that a request asks for.
 * @throws {Refusal} 400 without a version, for a beta that is not known, and for a field whose beta is missing
 */
export function checkHeaders(headers: IncomingHttpHeaders, fields: Fields): ReadonlySet<string> {
  const { 'anthropic-version': version, 'anthropic-beta': header } = headers
  if (!version) throw invalid('anthropic-version: header is required')
  const given = String(header ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  const unknown = given.filter((name) => !KNOWN.has(name)).map((name) => `\`${name}\``)
  if (unknown.length > 0) {
    throw invalid(
      `Unexpected value(s) ${unknown.join(', ')} for the \`anthropic-beta\` header. Please consult our documentation ` +
        'or try again without the header.',
    )
  }
  for (const [field, beta] of Object.entries(NEEDED)) {
    if (fields[field] !== undefined && !given.includes(beta)) throw invalid(`${field}: Extra inputs are not permitted`)
  }
  return new Set(given)
}
