import type { Mutant } from './mutant.ts'
import { ARITHMETIC, GUARDS, MEDIA_FIELDS } from './killing-tests.ts'

const PRICING_SOURCE = 'src/shared/terms/pricing.ts'

/** Bugs in what things cost: customers, and the operator. */
export const PRICES: readonly Mutant[] = [
  {
    name: 'cached tokens are counted twice',
    why: 'In the usage of most upstreams they are a part of the prompt.',
    edits: [
      {
        file: 'src/workers/upstreams/trusted-usage.ts',
        find: 'if (parts <= input) return { input: input - parts, cached, written }',
        replace: 'if (parts <= input) return { input, cached, written }',
      },
    ],
    tests: ['test/workers/upstreams/trusted-usage.test.ts'],
  },
  {
    name: 'what is written to a cache costs nothing',
    why: 'Each of the three counts has its price.',
    edits: [{ file: PRICING_SOURCE, find: 'BigInt(tokens.written ?? 0) * BigInt(cacheWrite) +', replace: '' }],
    tests: [ARITHMETIC],
  },
  {
    name: 'the pre-charge takes a cheap input for granted',
    why: 'The customer decides what a cache has a part in.',
    edits: [
      {
        file: PRICING_SOURCE,
        find: 'const dearest = Math.max(price.input, price.cachedInput ?? 0, price.cacheWrite ?? 0)',
        replace: 'const dearest = price.input',
      },
    ],
    tests: [ARITHMETIC],
  },
  {
    name: 'a text file of a response is held by its data alone',
    why: 'Other upstreams are sent its words, which are longer where they are escaped.',
    edits: [
      {
        file: 'src/shared/chat/responses/estimate.ts',
        find: ' + bytesOfWords(request)',
        replace: '',
      },
    ],
    tests: ['test/shared/chat/responses/estimate.test.ts'],
  },
  {
    name: 'what has no price is free',
    why: 'What fits no row is never made for nothing.',
    edits: [
      {
        file: PRICING_SOURCE,
        find: 'return due && wholeCredits(price, [due[0] * BigInt(pictures), due[1]])',
        replace: 'return wholeCredits(price, due ? [due[0] * BigInt(pictures), due[1]] : [0n, 1n])',
      },
    ],
    tests: [ARITHMETIC, MEDIA_FIELDS],
  },
  {
    name: 'one price for a video of any length',
    why: 'The customer chooses the length.',
    edits: [
      {
        file: 'src/api/v1/videos/generations.ts',
        find: 'mediaCost(price, { resolution, duration })',
        replace: 'mediaCost(price, { resolution, duration: duration && 1 })',
      },
    ],
    tests: [MEDIA_FIELDS],
  },
  {
    name: 'X-Max-Credits is ignored on streams',
    why: 'A guard holds for every form of a call.',
    edits: [
      {
        file: 'src/api/v1/calls/place-call.ts',
        find: "'tokens_above_limit' : priceGuard(ctx, order)",
        replace:
          "'tokens_above_limit' : 'stream' in order.request && order.request.stream ? null : priceGuard(ctx, order)",
      },
    ],
    tests: [GUARDS],
  },
  {
    name: 'a guard hides an answer that was paid',
    why: 'A retry that joins a call is charged nothing.',
    edits: [
      {
        file: 'sql/open_calls.sql',
        find: "WHEN existing_id IS NOT NULL THEN 'exists'",
        replace: "WHEN r.guarded IS NOT NULL THEN r.guarded WHEN existing_id IS NOT NULL THEN 'exists'",
      },
    ],
    tests: [GUARDS],
  },
  {
    name: 'a cost that is unknown is nothing',
    why: 'A margin without it would be made up.',
    edits: [
      {
        file: 'src/workers/calls/costs.ts',
        find: 'this.sum = this.sum === null || cost === null ? null : this.sum + cost',
        replace: 'this.sum = (this.sum ?? 0) + (cost ?? 0)',
      },
    ],
    tests: ['test/upstreams/costs.test.ts'],
  },
]
