import { expect } from 'chai'
import { z } from 'zod'
import { aboutField, fieldFault } from '../../../src/shared/platform/field-errors.ts'

const said = (schema: z.ZodType, value: unknown): string => {
  const parsed = schema.safeParse(value, { error: fieldFault })
  return parsed.success ? 'accepted' : aboutField('field', parsed.error.issues[0]!.message)
}

describe('faults of fields', () => {
  const cases: [z.ZodType, unknown, string][] = [
    [z.string(), undefined, 'field is required.'],
    [z.string(), 5, 'field must be a string.'],
    [z.int(), 1.5, 'field must be a whole number.'],
    [z.boolean(), 'yes', 'field must be true or false.'],
    [z.number().min(0).max(2), 9, 'field must be at most 2.'],
    [z.number().gt(0), 0, 'field must be more than 0.'],
    [z.string().min(1), '', 'field must not be empty.'],
    [z.string().max(2000), 'x'.repeat(2001), 'field must have at most 2,000 characters.'],
    [z.array(z.string()).max(3), ['', '', '', ''], 'field must have at most 3 elements.'],
    [z.enum(['low', 'high']), 'x', 'field must be one of "low", "high".'],
    [z.literal('function'), 'x', 'field must be "function".'],
    [z.union([z.string(), z.number()]), true, 'field is not valid.'],
    [z.string().refine(() => false, 'must be a day'), 'x', 'field must be a day.'],
  ]
  for (const [schema, value, sentence] of cases) {
    it(`read as a sentence: ${sentence}`, () => expect(said(schema, value)).to.equal(sentence))
  }
})
