import type { Mutant } from './mutant.ts'
import {
  DIALECT_FIELDS,
  HOSTILE_MESSAGES,
  RELAYED,
  MESSAGE_ESTIMATE,
  MESSAGE_HOLDS,
  MESSAGE_MONEY,
  PASSED_MESSAGES,
} from './killing-tests.ts'

const PASS = 'src/workers/upstreams/anthropic/pass.ts'
const CHECK = 'src/shared/chat/messages/check.ts'
const PARTS = 'src/shared/chat/messages/parts.ts'
const ANSWER = 'src/shared/chat/messages/answer.ts'

/** Bugs in what a message holds, sends, settles and gives back. */
export const OF_MESSAGES: readonly Mutant[] = [
  {
    name: 'the lowered limit of a message is not sent',
    why: 'What is held is what the upstream may produce.',
    edits: [
      {
        file: 'src/api/v1/calls/call-order.ts',
        find: 'request: { ...order.request, max_tokens: maxTokens },',
        replace: 'request: order.request,',
      },
    ],
    tests: [MESSAGE_MONEY],
  },
  {
    name: 'a message is lowered, and held whole',
    why: 'With less than the whole hold a call is clamped, not refused.',
    edits: [
      {
        file: 'src/api/v1/calls/call-order.ts',
        find: 'charge: chatCharge(price, lowered) }',
        replace: 'charge: chatCharge(price, estimate) }',
      },
    ],
    tests: [MESSAGE_MONEY],
  },
  {
    name: 'a budget of thinking above its limit',
    why: 'Thinking is billed as output.',
    edits: [
      {
        file: PASS,
        find: "typeof budget !== 'number' || budget < maxTokens",
        replace: "typeof budget !== 'number' || budget > 0",
      },
    ],
    tests: [PASSED_MESSAGES, MESSAGE_HOLDS],
  },
  {
    name: 'a dearer field that only another upstream may be sent',
    why: 'What one upstream is allowed says nothing of the next.',
    edits: [
      {
        file: 'src/shared/chat/check-body.ts',
        find: 'free.has(name) || allow.includes(name)',
        replace: 'free.has(name) || allow.length >= 0',
      },
    ],
    tests: [PASSED_MESSAGES, MESSAGE_HOLDS],
  },
  {
    name: 'a dearer tier of a message',
    why: 'Only an upstream that is allowed a tier is sent it.',
    edits: [
      {
        file: PASS,
        find: "service_tier: mayTier ? tier : 'standard_only'",
        replace: "service_tier: isText(tier) ? tier : 'standard_only'",
      },
    ],
    tests: [PASSED_MESSAGES, MESSAGE_HOLDS],
  },
  {
    name: 'dearer fields are taken',
    why: 'What is billed apart is refused, not dropped.',
    edits: [
      {
        file: 'src/shared/chat/check-body.ts',
        find: 'else if (!isFree(name, value)) throw',
        replace: "else if (!isFree(name, value) && name === '') throw",
      },
    ],
    tests: [DIALECT_FIELDS],
  },
  {
    name: 'a cache for an hour inside a document',
    why: 'Marks stand on blocks, however deep.',
    edits: [
      {
        file: 'src/shared/chat/messages/cache-marks.ts',
        find: "'content', 'source', 'tool'",
        replace: "'content', 'tool'",
      },
    ],
    tests: [DIALECT_FIELDS],
  },
  {
    name: 'hosted tools are passed on',
    why: 'A tool that runs at its upstream is billed by its use.',
    edits: [{ file: CHECK, find: '.filter(isHosted)\n  if', replace: '.filter(() => false)\n  if' }],
    tests: [DIALECT_FIELDS, MESSAGE_HOLDS],
  },
  {
    name: 'a hosted tool is added in the middle',
    why: 'Tools come in turns too.',
    edits: [
      {
        file: 'src/shared/chat/messages/fields.ts',
        find: 'TOOL_CHANGE.test(String(type)) && namesHosted(more)',
        replace: 'TOOL_CHANGE.test(String(type)) && namesHosted(type)',
      },
    ],
    tests: [DIALECT_FIELDS, MESSAGE_HOLDS],
  },
  {
    name: 'the words around tools are not held',
    why: 'An upstream puts a prompt of its own before tools.',
    edits: [
      {
        file: 'src/shared/chat/parts.ts',
        find: 'tools.length > 0 ? TOOLS_TOKENS : 0',
        replace: 'tools.length > 512 ? TOOLS_TOKENS : 0',
      },
    ],
    tests: [MESSAGE_ESTIMATE],
  },
  {
    name: 'pictures in results of tools are not held',
    why: 'An upstream bills a picture wherever it stands.',
    edits: [
      {
        file: PARTS,
        find: "if (block.type === 'tool_result') return partsIn(block.content, `${here}.content`)",
        replace: "if (block.type === 'tool_result') return []",
      },
    ],
    tests: [MESSAGE_ESTIMATE, MESSAGE_HOLDS],
  },
  {
    name: "the bytes of a message's documents are not held",
    why: 'A document without a price counts by its bytes.',
    edits: [
      {
        file: 'src/shared/chat/parts.ts',
        find: 'part.data !== null && tokensOf(part, rules) !== null',
        replace: 'part.data !== null',
      },
    ],
    tests: [MESSAGE_ESTIMATE],
  },
  {
    name: "counts of a message's end are ignored",
    why: 'Some servers count only in message_delta.',
    edits: [
      {
        file: 'src/workers/upstreams/anthropic/decode-answer.ts',
        find: 'anthropicUsage(event.usage ?? asFields(event.message).usage)',
        replace: 'anthropicUsage(asFields(event.message).usage)',
      },
    ],
    tests: [MESSAGE_MONEY],
  },
  {
    name: 'cached input of a Claude is read as a part of its input',
    why: 'Anthropic counts what a cache had a part in beside the input.',
    edits: [
      {
        file: 'src/workers/upstreams/usage.ts',
        find: 'UpstreamUsage | null => reported(usage, true)',
        replace: 'UpstreamUsage | null => reported(usage, false)',
      },
    ],
    tests: [MESSAGE_MONEY],
  },
  {
    name: 'a second beginning of a message is passed on',
    why: 'SDKs throw on it, and ask again.',
    edits: [
      { file: PASS, find: 'EVENTS.has(frame.type) && !this.isSecondStart(frame)', replace: 'EVENTS.has(frame.type)' },
    ],
    tests: [MESSAGE_MONEY],
  },
  {
    name: 'the words of a lost stream are free',
    why: 'What was delivered is paid, in every dialect.',
    edits: [
      { file: 'src/api/v1/calls/relayed-stream.ts', find: 'this.words = words', replace: 'this.words = 0 * words' },
    ],
    tests: [RELAYED],
  },
  {
    name: 'one key joins two dialects',
    why: 'An answer is in the form that was asked for.',
    edits: [
      {
        file: 'src/api/v1/calls/place-call.ts',
        find: 'identityOf(ctx, asked.sort ?? asked.dialect ?? asked.model.modality, asked.body)',
        replace: 'identityOf(ctx, asked.sort ?? asked.model.modality, asked.body)',
      },
    ],
    tests: [HOSTILE_MESSAGES],
  },
  {
    name: 'a message is settled without its written cache',
    why: 'Each count of a call has its own price.',
    edits: [
      { file: ANSWER, find: 'cache_creation_input_tokens: written,', replace: 'cache_creation_input_tokens: 0,' },
    ],
    tests: [MESSAGE_MONEY],
  },
]
