/**
 * What a playground request looks like in a program, and what it will cost at most.
 */
import { chatCharge, outputLimit } from '../../../shared/requests/pricing.ts'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { ChatFields, ChatMessage, MediaFields } from '../../api/gateway.ts'
import { PATHS } from '../../api/gateway.ts'

/**
 * Credits that a call can cost at most. Chats by what would be sent, as the gateway counts it: bytes / 3, and all the
 * output that the model may make.
 */
export function ceilingOf(model: ModelEntry, messages: ChatMessage[] = [], maxTokens?: number): number {
  if (!model.pricing) return model.credits
  const bytes = new TextEncoder().encode(JSON.stringify(messages)).length
  return chatCharge(model.pricing, { input: Math.ceil(bytes / 3), output: outputLimit(maxTokens, model) })
}

/** A shell's own quotes: nothing inside them means anything to it. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The request as a curl line. The key stands in a variable: what is copied is often pasted where others see it. */
export function asCurl(kind: keyof typeof PATHS, fields: ChatFields | MediaFields): string {
  return [
    `curl -s ${location.origin}${PATHS[kind]}`,
    `-H "Authorization: Bearer $TOLLGATE_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify(fields))}`,
  ].join(' \\\n  ')
}

/**
 * The request with OpenAI's SDK for JavaScript. Images and videos have fields that it does not know: `post` sends any.
 */
export function asSdk(kind: keyof typeof PATHS, fields: ChatFields | MediaFields): string {
  const opening = [
    `import OpenAI from 'openai'`,
    '',
    `const client = new OpenAI({ baseURL: '${location.origin}/v1', apiKey: process.env.TOLLGATE_KEY })`,
  ]
  const body = JSON.stringify(fields, null, 2)
  const call =
    kind === 'chat'
      ? [
          `const answer = await client.chat.completions.create(${body})`,
          'console.log(answer.choices[0].message.content)',
        ]
      : [
          `const answer = await client.post('${PATHS[kind].slice(3)}', {`,
          `  body: ${body.replaceAll('\n', '\n  ')},`,
          '})',
          'console.log(answer.data[0].url)',
        ]
  return [...opening, ...call].join('\n')
}

/** A JSON document as Python writes it. */
const python = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(
    /("(?:[^"\\]|\\.)*")|\b(true|false|null)\b/g,
    (_match, text: string | undefined, word: string | undefined) =>
      text ?? { true: 'True', false: 'False', null: 'None' }[word as 'true'],
  )

/** The request with OpenAI's SDK for Python. */
export function asPython(kind: keyof typeof PATHS, fields: ChatFields | MediaFields): string {
  const opening = [
    'import os',
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${location.origin}/v1", api_key=os.environ["TOLLGATE_KEY"])`,
  ]
  const call =
    kind === 'chat'
      ? [`answer = client.chat.completions.create(**${python(fields)})`, 'print(answer.choices[0].message.content)']
      : [
          `answer = client.post("${PATHS[kind].slice(3)}", body=${python(fields)}, cast_to=object)`,
          'print(answer["data"][0]["url"])',
        ]
  return [...opening, ...call].join('\n')
}
