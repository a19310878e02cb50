import { expect } from 'chai'
import { PREFIXES, newId, parseId, publicId } from '../../../src/shared/platform/ids.ts'
import type { IdKind } from '../../../src/shared/platform/ids.ts'

describe('ids', () => {
  it('are UUIDs of version 7 that sort by the time they were made', async () => {
    const before = Date.now()
    const first = newId('call')
    const after = Date.now()
    await new Promise((resolve) => {
      setTimeout(resolve, 2)
    })
    const second = newId('call')
    expect(first).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(first < second).to.equal(true)
    expect(Number.parseInt(first.slice(0, 13).replace('-', ''), 16)).to.be.within(before, after)
  })

  it('are all different', () => {
    expect(new Set(Array.from({ length: 10_000 }, () => newId('call'))).size).to.equal(10_000)
  })

  it('have a text form that is parsed only as their own kind', () => {
    const kinds = Object.keys(PREFIXES) as IdKind[]
    for (const kind of kinds) {
      const id = newId(kind)
      const text = publicId(kind, id)
      expect(text).to.match(/^[a-z]+_[0-9a-f]{32}$/)
      for (const other of kinds) expect(parseId(other, text)).to.equal(other === kind ? id : null)
    }
  })

  it('are refused in every other form, so that Postgres never sees a malformed one', () => {
    const text = publicId('call', newId('call'))
    const altered = ['', `${text}0`, ` ${text}`, `${text}\n`, text.slice(0, -1), text.toUpperCase(), text.slice(5)]
    const made = [newId('call'), `call_${newId('call')}`, `call_${'g'.repeat(32)}`, "call_' OR 1=1 --"]
    const texts = [...altered, ...made, ...'call call_ call_%00 __proto___x'.split(' ')]
    for (const one of texts) expect(parseId('call', one), JSON.stringify(one)).to.equal(null)
  })
})
