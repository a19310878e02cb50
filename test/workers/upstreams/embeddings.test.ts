import { expect } from 'chai'
import type { EmbeddingRequest } from '../../../src/shared/requests/embeddings.ts'
import type { EmbeddingAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { FAILURES, HASTY, failureOf, promptOf, startWorld, useWorld } from './sandbox-upstreams.ts'

describe('embeddings over openai', () => {
  const world = useWorld()
  let embed: EmbeddingAdapter
  before(() => {
    embed = world.upstreams.adapterOf('openai').embedding!
  })

  const asking = (input: EmbeddingRequest['input'], more: object = {}): EmbeddingRequest => ({
    input,
    encoding_format: 'float',
    ...more,
  })

  it('are in the order of the input, though the upstream answers in another', async () => {
    const [one, other] = [promptOf('one'), promptOf('other')]
    const { vectors } = await embed(asking([one, other]), world.context('openai'))
    const alone = await Promise.all([one, other].map((text) => embed(asking(text), world.context('openai'))))
    expect(vectors).to.deep.equal(alone.map((answer) => answer.vectors[0]))
    expect(vectors[0]).not.to.deep.equal(vectors[1])
  })

  it('are read in numbers where the upstream is not asked for base64', async () => {
    const text = promptOf('numbers')
    const numbers = await embed(asking(text), world.context('openai', { drop: ['encoding_format'] }))
    const base64 = await embed(asking(text), world.context('openai'))
    expect(numbers.vectors).to.deep.equal(base64.vectors)
  })

  it('fail where they have another length than was asked for', async () => {
    const context = world.context('openai', { set: { dimensions: 4 } })
    const failure = await failureOf(embed(asking(promptOf('a'), { dimensions: 8 }), context))
    expect(failure.kind).to.equal('unknown')
  })

  it('send lists of tokens as they are', async () => {
    const { usage, vectors } = await embed(asking([[1, 2], [3]]), world.context('openai'))
    expect(usage).to.include({ input: 3, output: 0 })
    expect(vectors).to.have.length(2)
  })

  for (const [words, kind] of FAILURES) {
    it(`fail as ${kind} where the upstream does ${words}`, async () => {
      expect((await failureOf(embed(asking(promptOf(words)), world.context('openai')))).kind).to.equal(kind)
    })
  }

  it('fail where the upstream sends no more of them', async () => {
    const hasty = await startWorld({ timeouts: HASTY })
    try {
      const slow = hasty.upstreams.adapterOf('openai').embedding!
      expect((await failureOf(slow(asking(promptOf('[hang-body]')), hasty.context('openai')))).kind).to.equal('unknown')
    } finally {
      await hasty.close()
    }
  })
})
