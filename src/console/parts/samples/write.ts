/**
 * How programs and shells write a request. The key is in a variable: what is copied is often pasted where others
 * see it.
 */

/** What is written of a request, in one language. `origin`: the address of this gateway. */
export type Writer<Fields> = (origin: string, fields: Fields) => string

/** The languages that a request is written in, in their order. */
export type Writers<Fields> = readonly (readonly [language: string, write: Writer<Fields>])[]

/** A shell's own quotes: nothing inside them means anything to it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A request as a curl line. `headers`: as arguments of a shell. */
export const curl = (url: string, headers: readonly string[], body: object): string =>
  [
    `curl -s ${url}`,
    ...[...headers, `'Content-Type: application/json'`].map((header) => `-H ${header}`),
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n  ')

/** The header that most requests have their key in. */
export const BEARER = `"Authorization: Bearer $TOLLGATE_KEY"`

/** Lines of code. */
export const lines = (...all: string[]): string => all.join('\n')

/** A JSON document as JavaScript writes it. */
export const javaScript = (value: object): string => JSON.stringify(value, null, 2)

/** A JSON document as Python writes it. */
export const python = (value: object): string =>
  JSON.stringify(value, null, 4).replaceAll(
    /("(?:[^"\\]|\\.)*")|\b(true|false|null)\b/g,
    (_match, text: string | undefined, word: string | undefined) =>
      text ?? { true: 'True', false: 'False', null: 'None' }[word as 'true'],
  )

/** OpenAI's SDK, set up for this gateway. */
export const OPENAI = {
  python: (origin: string): string =>
    lines(
      'import os',
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url="${origin}/v1", api_key=os.environ["TOLLGATE_KEY"])`,
    ),
  javaScript: (origin: string): string =>
    lines(
      `import OpenAI from 'openai'`,
      '',
      `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.TOLLGATE_KEY })`,
    ),
}
