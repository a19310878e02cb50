import type { Dialect } from '../../../../src/shared/chat/dialect.ts'
import type { Feature } from '../../../../src/shared/chat/features.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'

/**
 * `field`: of the body's schema. `wire`: what is in the JSON of the body that a protocol of this dialect is sent; empty
 * where nothing of it has to be in there. `at`: how a refusal names it, if not by its field.
 */
export type Sample = {
  field: string
  feature: Feature
  body: Fields
  at?: string
  wire?: Partial<Record<Dialect, string>>
}

export const PDF = 'data:application/pdf;base64,JVBERi0x'
export const WORD = 'data:application/msword;base64,AAAA'
export const TEXT = `data:text/plain;base64,${Buffer.from('plain words').toString('base64')}`
export const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}

/** Messages of one turn. */
export const saying = (...content: Fields[]) => [{ role: 'user', content }]
