/**
 * What an endpoint declares of the forms that it takes (`multipart/form-data`, RFC 7578): their files. Their texts are
 * fields of its body's schema, as those of JSON.
 */
import { z } from 'zod'
import { FormFile } from './form-file.ts'

/** How many files of one name a form may have, and how large each may be, in bytes. */
export type DeclaredFiles = { most: number; maxBytes: number }

/** The forms that an endpoint takes. */
export type DeclaredForm = {
  /** Its files by their names. One that may be there once is a `FormFile` of the body, others are a list of them. */
  files: Readonly<Record<string, DeclaredFiles>>
  /** All files together, in bytes. */
  maxFileBytes: number
  /** Texts that may come more than once, with `[]` behind their name or without: lists of the body. */
  lists?: readonly string[]
  /** The endpoint also takes JSON, which has no files. */
  orJson?: true
}

/** How much longer than its files a form may be, in bytes: its texts and what surrounds its parts. */
export const AROUND_FILES_BYTES = 1_048_576

/** The longest form, in bytes. */
export const longestForm = ({ maxFileBytes }: DeclaredForm): number => maxFileBytes + AROUND_FILES_BYTES

const isFile = (value: unknown): boolean => value instanceof FormFile

/** A file of a form, in a schema of its body. */
export const formFile = z
  .custom<FormFile>(isFile, { error: ({ input }) => (input === undefined ? 'is required' : 'must be a file') })
  .meta({ type: 'string', format: 'binary' })

/** A number in a form, if it is a text; JSON's own where the endpoint takes that too. */
export const formNumber = <S extends z.ZodType>(schema: S) =>
  z.preprocess((value) => (typeof value === 'string' && NUMBER.test(value) ? Number(value) : value), schema)

const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

/** True or false in a form. */
export const formBoolean = z.preprocess(
  (value) => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean(),
)
