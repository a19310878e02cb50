import { expect } from 'chai'
import fc from 'fast-check'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { messageBodies } from '../../upstreams/support/message-bodies.ts'
import type { Answered } from './support/floods.ts'
import { OF_DIALECTS, fuzz, isPutOffInDialect } from './support/fuzzing.ts'
import { claudeAndGpt } from './support/message-models.ts'
import type { Sending } from './support/random-requests.ts'
import { mostly, sendingOf, spoilt, spoiltWithin } from './support/random-requests.ts'

const KEYS = [
  'model',
  'messages',
  'max_tokens',
  'system',
  'stop_sequences',
  'stream',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'metadata',
  'output_config',
  'cache_control',
  'context_management',
  'service_tier',
  'mcp_servers',
  'n',
  '__proto__',
  'constructor',
  'toString',
  '',
  '\0',
]

const bodies = spoiltWithin(messageBodies, mostly(fc.constantFrom('claude', 'gpt'), fc.constant('nobody')))

const sending: fc.Arbitrary<Sending> = mostly(
  fc.constant('/v1/messages'),
  fc.constantFrom('/v1/messages?beta=true', '/v1/messages/count_tokens', '/v1/messages/', '/v1/messages/batches'),
  6,
).chain((path) => sendingOf(path, spoilt(bodies, KEYS)))

function check({ status, text }: Answered, about: string): void {
  expect(OF_DIALECTS.has(status), `${status} ${text} to ${about}`).to.equal(true)
}

fuzz('messages', {
  start: () => startGateway({}, claudeAndGpt),
  sending,
  isPutOff: isPutOffInDialect,
  check,
  statuses: [200, 202, 400, 401, 404, 415],
})
