import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { ListedModel } from '../../../src/shared/calls/listed-models.ts'
import { lastAsked } from '../../../src/shared/calls/listed-models.ts'
import { useBooks } from '../../support/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { opened, rowOf, verbs } from './opening.ts'

const listed = (model: string, output: number): ListedModel => ({
  model,
  price: { input: 0, output, perTokens: 1, perCall: 0, minimum: 1 },
  maxTokens: 10,
  estimate: { input: 1, output: 10 },
})

describe('a call with a list of models', () => {
  const db = useBooks({ pool: 2 })
  const calls = verbs(db)

  it('is given to the next one by the attempt that has it alone, repeatedly, and not after its end', async () => {
    const [first, second] = [listed('list-first', 1), listed('list-second', 3)]
    const account = await anAccount(db, 100)
    const { model, price, estimate } = first
    const id = await opened(calls, account, 30, { modality: 'chat', model, price, estimate })
    expect(await calls.moveToModel({ id, attempt: 1 }, second)).to.equal(false)
    const begun = (await calls.begin(id))!
    expect(await calls.moveToModel({ id, attempt: 2 }, second)).to.equal(false)
    for (let times = 0; times < 2; times += 1) expect(await calls.moveToModel(begun, second)).to.equal(true)
    expect(await rowOf(db, id)).to.deep.include({ model: 'list-second', requested: 'list-first', price: second.price })
    expect(await lastAsked(db, id, [first, second])).to.equal(second)
    await calls.refund(id, gatewayError('upstream_failed'))
    expect(await calls.moveToModel(begun, first)).to.equal(false)
  })
})
