import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { DirectMediaAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { promptOf, useWorld } from './sandbox-upstreams.ts'

describe('the name of an end user, longer than upstreams take', () => {
  const world = useWorld()

  const user = 'u'.repeat(65)
  const asked: Record<string, (text: string) => Promise<unknown>> = {
    embeddings: (input) =>
      world.upstreams.adapterOf('openai').embedding!(
        { input, encoding_format: 'float', user },
        world.context('openai'),
      ),
    images: (prompt) =>
      (world.upstreams.adapterOf('openai').image as DirectMediaAdapter).generate(
        { prompt, user },
        world.context('openai'),
      ),
  }
  for (const [kind, ask] of Object.entries(asked))
    it(`is sent as its hash: ${kind}`, async () => {
      const text = promptOf('by somebody')
      await ask(text)
      const hash = createHash('sha256').update(user).digest('hex')
      expect(world.sandbox.journal(text)[0]!.body).to.include({ user: hash })
    })
})
