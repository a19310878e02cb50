import { expect } from 'chai'
import type { ModerationRequest } from '../../../src/shared/requests/moderations.ts'
import type { ModerationAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { startAnsweringUpstream } from './answering-upstream.ts'
import type { AnsweringUpstream } from './answering-upstream.ts'
import { FAILURES, failureOf, promptOf, startWorld } from './sandbox-upstreams.ts'
import type { World } from './sandbox-upstreams.ts'

describe('moderations over openai', () => {
  let world: World
  let upstream: AnsweringUpstream
  let moderate: ModerationAdapter
  before(async () => {
    ;[world, upstream] = await Promise.all([startWorld(), startAnsweringUpstream()])
    moderate = world.upstreams.adapterFor(world.context('openai').route, 'moderation')
  })
  after(() => Promise.all([world.close(), upstream.close()]))

  /** What comes of an answer. */
  function answered(results: unknown, input: ModerationRequest['input'] = 'a') {
    upstream.answer = { id: 'modr-1', model: 'm', results }
    return moderate({ input }, world.context('openai', { upstream: { baseUrl: upstream.baseUrl } }))
  }

  it('send the input and the model, and nothing else', async () => {
    const input = [{ type: 'text' as const, text: 'a' }]
    await answered([{ flagged: false, categories: {} }], input)
    const { model } = world.context('openai').route
    expect(upstream.asked).to.deep.equal({ path: '/moderations', body: { input, model } })
  })

  it('take the fields that are known, and of these what is what it should be', async () => {
    const categories = { hate: true, violence: false, illicit: null, odd: 'yes' }
    const made = await answered([
      {
        flagged: true,
        categories,
        category_scores: { hate: 0.9, violence: '1', illicit: null, odd: [1] },
        category_applied_input_types: { hate: ['text'], odd: 'text', other: [1] },
        extra: 'left out',
      },
    ])
    expect(made).to.deep.equal([
      {
        flagged: true,
        categories: { hate: true, violence: false, illicit: null },
        category_scores: { hate: 0.9, illicit: null },
        category_applied_input_types: { hate: ['text'] },
      },
    ])
  })

  it('are flagged by their categories where the upstream does not say', async () => {
    const made = await answered([{ categories: { hate: true } }, { categories: { hate: false } }], ['a', 'b'])
    expect(made.map(({ flagged }) => flagged)).to.deep.equal([true, false])
  })

  const MALFORMED: [what: string, results: unknown][] = [
    ['no results', undefined],
    ['an object', {}],
    ['one result too many', [{ categories: {} }, { categories: {} }]],
    ['none', []],
    ['a text', ['no']],
    ['no categories', [{ flagged: true }]],
    ['a list of categories', [{ flagged: true, categories: ['hate'] }]],
  ]
  for (const [what, results] of MALFORMED) {
    it(`fail where the upstream answers ${what}`, async () => {
      expect((await failureOf(answered(results))).kind).to.equal('unknown')
    })
  }

  for (const [words, kind] of FAILURES) {
    it(`fail as ${kind} where the upstream does ${words}`, async () => {
      const asked = moderate({ input: promptOf(words) }, world.context('openai'))
      expect((await failureOf(asked)).kind).to.equal(kind)
    })
  }
})
