import { expect } from 'chai'
import { closedSchema, closingBytes } from '../../../src/shared/chat/schemas.ts'

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

describe('a schema that is closed on its way', () => {
  const escaped = { type: 'object', properties: {}, pattern: '\n'.repeat(100) }

  it('is charged for with what it gains: escapes that are escaped again, and the keyword that closes it', () => {
    const gained = bytes(closedSchema(escaped)) - bytes(escaped)
    expect(gained).to.be.above(100)
    expect(closingBytes(escaped, [])).to.equal(gained)
    expect(closingBytes(undefined, [{ strict: true, schema: escaped }])).to.equal(gained)
  })

  it('describes what Claude does not know: objects of any names', () => {
    expect(closedSchema({ type: 'object', additionalProperties: { type: 'number' } })).to.deep.equal({
      type: 'object',
      description: '{"additionalProperties":{"type":"number"}}',
      additionalProperties: false,
    })
  })

  it('is charged for as it is where nothing closes it', () => {
    expect(closingBytes(undefined, [{ strict: false, schema: escaped }])).to.equal(0)
    expect(closingBytes({ type: 'string' }, [])).to.equal(0)
  })
})
