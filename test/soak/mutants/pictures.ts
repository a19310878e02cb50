import type { Mutant } from './mutant.ts'
import { IMAGES, IMAGE_EDITS, MEDIA_FIELDS, PICTURE_PRICES, SCHEDULES } from './killing-tests.ts'

const PRICING_SOURCE = 'src/shared/terms/pricing.ts'
const ROWS = 'src/shared/terms/media-rows.ts'
const COLLECTING = 'src/workers/calls/collect-media.ts'

/** Bugs in calls for several pictures. */
export const OF_PICTURES: readonly Mutant[] = [
  {
    name: 'pictures are charged as asked for, however many came',
    why: 'What was delivered is paid, and no more.',
    edits: [
      { file: COLLECTING, find: 'pictures: stored.length, charged', replace: 'pictures: asked?.n ?? 1, charged' },
    ],
    tests: [SCHEDULES, IMAGES],
  },
  {
    name: 'a call of several pictures is charged as one',
    why: 'Each picture has its price.',
    edits: [{ file: PRICING_SOURCE, find: 'due[0] * BigInt(pictures)', replace: 'due[0]' }],
    tests: [PICTURE_PRICES, SCHEDULES],
  },
  {
    name: 'pictures that nobody asked for are handed on',
    why: 'What is not charged is not given away.',
    edits: [{ file: COLLECTING, find: 'made.files.slice(0, asked?.n ?? 1)', replace: 'made.files' }],
    tests: [SCHEDULES, IMAGES],
  },
  {
    name: 'what is left to the upstream is held at the first row',
    why: 'It may turn out to be the dearest.',
    edits: [
      {
        file: ROWS,
        find: 'if (dearest === null || cost[0] * dearest[1] > dearest[0] * cost[1]) dearest = cost',
        replace: 'dearest ??= cost',
      },
    ],
    tests: [PICTURE_PRICES],
  },
  {
    name: 'an upstream says what a quality is that the customer named',
    why: 'What was named is paid as it was named.',
    edits: [
      { file: ROWS, find: 'shape.quality === undefined && quality !== undefined', replace: 'quality !== undefined' },
    ],
    tests: [PICTURE_PRICES],
  },
  {
    name: 'a quality that is not offered is believed',
    why: 'It would be paid as any other, which may be less.',
    edits: [{ file: COLLECTING, find: 'qualities.includes(quality) && ', replace: '' }],
    tests: [IMAGES],
  },
  {
    name: 'a field that no upstream is sent is charged',
    why: 'What is asked for is sent or refused.',
    edits: [
      {
        file: 'src/shared/catalogue/route-rules.ts',
        find: 'if (drop.includes(field) || UNKNOWN',
        replace: 'if (UNKNOWN',
      },
    ],
    tests: [MEDIA_FIELDS],
  },
  {
    name: 'only the first of the uploaded pictures is sent',
    why: 'All of them are edited, in their order.',
    edits: [
      {
        file: 'src/workers/upstreams/openai/images.ts',
        find: '...images.map((one) => fileOf(name, one))',
        replace: '...images.slice(0, 1).map((one) => fileOf(name, one))',
      },
    ],
    tests: [IMAGE_EDITS],
  },
]
