import { expect } from 'chai'
import { withPrevious, withReferred } from '../../../../src/api/v1/responses/previous.ts'
import type { StoredResponse } from '../../../../src/shared/calls/stored-responses.ts'
import { itemId } from '../../../../src/shared/chat/responses/response.ts'
import type { CallId } from '../../../../src/shared/platform/ids.ts'
import { newId, publicId } from '../../../../src/shared/platform/ids.ts'
import { cpuRatio } from '../../../support/pace.ts'

const idOf = (call: CallId, at: number): string => itemId('msg', publicId('call', call), at)
const reference = (id: string) => ({ type: 'item_reference', id })

describe('references to items of stored responses', () => {
  const call = newId('call')
  const stored = (count: number): [Map<CallId, StoredResponse>, { type: string; id: string }[]] => {
    const input = Array.from({ length: count }, (_one, at) => ({ type: 'message', id: idOf(call, at) }))
    return [new Map([[call, { input, output: [], bytes: 0 }]]), input.map(({ id }) => reference(id)).toReversed()]
  }

  it('take time in proportion to the items, however many there are', () => {
    const resolving = (count: number) => {
      const [found, references] = stored(count)
      return () => withReferred(references, found)
    }
    // In the square of them it would be 64 times.
    expect(cpuRatio(resolving(32_000), resolving(4_000)), '4,000 to 32,000').to.be.below(30)
  })

  it('are those of the response that their id names, an answer before an input', () => {
    const other = newId('call')
    const [first, second] = [idOf(call, 0), idOf(call, 1)]
    const found = new Map<CallId, StoredResponse>([
      [call, { input: [{ id: first, of: 'input' }, { id: second }], output: [{ id: first, of: 'output' }], bytes: 0 }],
      [other, { input: [{ id: first, of: 'other' }], output: [], bytes: 0 }],
    ])
    const said = { role: 'user', content: 'hello' }
    expect(withReferred([reference(first), said, reference(second)], found)).to.deep.equal([
      { id: first, of: 'output' },
      said,
      { id: second },
    ])
    expect(() => withReferred([reference(idOf(other, 7))], found)).to.throw('was not found')
  })

  it('are counted before any is looked up', async () => {
    const input = Array.from({ length: 20_001 }, (_one, at) => reference(idOf(call, at)))
    // Without a database: a look-up would fail differently.
    const refused = await withPrevious({} as never, { input }, {} as never).catch((error: unknown) => error)
    expect(refused).to.include({ code: 'invalid_request', param: 'input' })
  })
})
