import type { Mutant } from './mutant.ts'
import { ARITHMETIC, GROUPS, GROUPS_OF_CATALOGUE, GROUP_OF_CHARGE, MARGINS } from './killing-tests.ts'

const PRICING_SOURCE = 'src/shared/terms/pricing.ts'
const SERVE = 'src/api/v1/calls/serve-call.ts'

/** Bugs in what groups of customers pay, see and may do. */
export const OF_GROUPS: readonly Mutant[] = [
  {
    name: 'a price is rounded up before its share is taken',
    why: 'A group pays its share of the exact price, rounded up once.',
    edits: [
      {
        file: PRICING_SOURCE,
        find: 'ceilOf([due * BigInt(priceBasisPoints), of * BigInt(WHOLE_PRICE)])',
        replace: 'ceilOf([ceilOf([due, of]) * BigInt(priceBasisPoints), BigInt(WHOLE_PRICE)])',
      },
    ],
    tests: [ARITHMETIC],
  },
  {
    name: 'the least that a call costs is the same for every group',
    why: 'The share is of the minimum, too.',
    edits: [
      {
        file: PRICING_SOURCE,
        find: 'wholeCredits(price, dueForTokens(price, tokens))',
        replace: 'Math.max(price.minimum, wholeCredits(price, dueForTokens(price, tokens)))',
      },
    ],
    tests: [ARITHMETIC],
  },
  {
    name: 'a group is a name alone',
    why: 'Its models have its share of their price.',
    edits: [
      {
        file: 'src/shared/catalogue/parse.ts',
        find: 'price: shareOf(model.price, priceBasisPoints)',
        replace: 'price: shareOf(model.price, 10_000)',
      },
    ],
    tests: [GROUPS_OF_CATALOGUE],
  },
  {
    name: 'a group sees every model',
    why: 'A model that a group may not see is unknown to it.',
    edits: [
      {
        file: 'src/shared/catalogue/parse.ts',
        find: 'seen?.includes(id) ?? true',
        replace: 'id !== undefined',
      },
    ],
    tests: [GROUPS_OF_CATALOGUE],
  },
  {
    name: 'calls are for what everybody is offered',
    why: 'A call is priced for the group of its account.',
    edits: [{ file: SERVE, find: 'offerTo(catalogue.current(), holder)', replace: 'catalogue.current()' }],
    tests: [GROUPS],
  },
  {
    name: 'embeddings are settled at the price of the catalogue',
    why: 'The price is pinned on the call.',
    edits: [
      {
        file: 'src/workers/calls/run-embedding.ts',
        find: 'settledCost(run.call.price as EmbeddingPrice, tokens',
        replace: 'settledCost(model.price, tokens',
      },
    ],
    tests: [GROUPS],
  },
  {
    name: 'a call is charged at the price of a group that its account has left',
    why: 'The charge looks at the group again.',
    edits: [{ file: 'sql/open_calls.sql', find: "WHEN NOT r.is_in_group THEN 'group_changed'", replace: '' }],
    tests: [GROUP_OF_CHARGE],
  },
  {
    name: 'a change of the group is told to the client',
    why: 'The call is asked anew at the prices of the new group.',
    edits: [
      {
        file: SERVE,
        find: '!(error instanceof GroupChanged) || regroupings === REGROUPINGS',
        replace: '!(error instanceof GroupChanged) || regroupings === 0',
      },
    ],
    tests: [GROUPS],
  },
  {
    name: "the limits of a group are nobody's",
    why: 'A group may have more, or less, than every account.',
    edits: [
      {
        file: 'src/shared/identity/account-limits.ts',
        find: 'group?.maxOutstanding ?? usual.MAX_OUTSTANDING_CALLS',
        replace: 'usual.MAX_OUTSTANDING_CALLS',
      },
    ],
    tests: [GROUPS],
  },
  {
    name: 'a catalogue is applied that loses the group of an account',
    why: 'Its accounts would pay another price from one moment to the next.',
    edits: [
      {
        file: 'src/shared/operators/catalogue-changes.ts',
        find: 'if (lost.length > 0) throw new BadCatalogue(lost)',
        replace: '',
      },
    ],
    tests: [GROUPS_OF_CATALOGUE],
  },
  {
    name: 'an account is put into a group while the group is removed',
    why: 'Whoever does the one waits for the other.',
    edits: [
      {
        file: 'src/shared/operators/changes.ts',
        find: 'await holdNewest(trx)',
        replace: '',
      },
    ],
    tests: [GROUPS_OF_CATALOGUE],
  },
  {
    name: 'a catalogue is checked at the whole price alone',
    why: 'A group may pay less than a call costs.',
    edits: [
      {
        file: 'src/shared/catalogue/margins.ts',
        find: 'faultsOf({ priceBasisPoints }, ',
        replace: 'faultsOf({ priceBasisPoints: priceBasisPoints && WHOLE_PRICE }, ',
      },
    ],
    tests: [MARGINS],
  },
]
