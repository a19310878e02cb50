/** Random bodies of Gemini's API for fast-check: every known field and part, and what an upstream bills apart. */
import fc from 'fast-check'
import { IMAGE_BYTES, name, now, often, schema, seldom, text, word } from './random-texts.ts'

const base64 = text.map((one) => Buffer.from(one).toString('base64'))
const data = fc.oneof(
  fc.constant({ mimeType: 'image/png', data: IMAGE_BYTES }),
  base64.map((one) => ({ mimeType: 'text/plain', data: one })),
  base64.map((one) => ({ mimeType: 'application/pdf', data: one })),
)
const file = fc.record({ inlineData: data, mediaResolution: now(fc.constant({ level: 'MEDIA_RESOLUTION_LOW' })) })
const signature = now(text)
const said = fc.oneof(
  { weight: 4, arbitrary: fc.record({ text, thoughtSignature: signature }) },
  { weight: 1, arbitrary: file },
)
const thought = fc.record({ text, thought: fc.constant(true), thoughtSignature: signature })
const code = fc.oneof(
  text.map((one) => ({ executableCode: { language: 'PYTHON', code: one } })),
  text.map((output) => ({ codeExecutionResult: { outcome: 'OUTCOME_OK', output } })),
)

// A model reads other results as JSON, without the escapes that they have as a text of JSON.
const response = fc.oneof(
  text.map((output) => ({ output })),
  text.map((error) => ({ error })),
  fc.constantFrom({}, { at: 1.5, on: true }),
)

/** Contents of which the functions that are called have answers. */
const called = fc
  .record({
    of: name,
    args: often(schema),
    response,
    parts: now(fc.array(file, { maxLength: 2 })),
    id: now(word),
  })
  .map(({ of, args, response, parts, id }): object[] => [
    { role: 'model', parts: [{ functionCall: { name: of, args, id } }] },
    { role: 'user', parts: [{ functionResponse: { name: of, response, parts, id } }] },
  ])
const contents = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.array(said, { minLength: 1, maxLength: 3 }).map((parts): object[] => [{ parts }]) },
      {
        weight: 2,
        arbitrary: fc
          .array(fc.oneof(said, thought, code), { minLength: 1, maxLength: 3 })
          .map((parts): object[] => [{ role: 'model', parts }]),
      },
      { weight: 1, arbitrary: called },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((all) => all.flat())

const declared = fc.record({
  name: fc.constantFrom('f', 'g', 'some.name'),
  description: now(text),
  parameters: now(schema),
  parametersJsonSchema: now(schema),
})
const tool = fc.record({
  functionDeclarations: often(fc.array(declared, { maxLength: 3 })),
  googleSearch: now(fc.constant({})),
  codeExecution: now(fc.constant({})),
})
const config = fc.record({
  maxOutputTokens: often(fc.integer({ min: 1, max: 200_000 })),
  temperature: now(fc.constant(0.123456789)),
  topP: now(fc.constant(0.5)),
  stopSequences: now(fc.array(text, { maxLength: 6 })),
  responseMimeType: now(fc.constantFrom('text/plain', 'application/json')),
  responseSchema: now(schema),
  responseJsonSchema: now(schema),
  thinkingConfig: now(fc.constantFrom<unknown>({ thinkingLevel: 'HIGH' }, { thinkingBudget: 90 })),
})
const choice = fc.constantFrom('AUTO', 'ANY', 'NONE', 'VALIDATED').map((mode) => ({ functionCallingConfig: { mode } }))

/** What an upstream bills apart, also at values that cost nothing. */
const DEARER = {
  cachedContent: fc.constant('cachedContents/1'),
  serviceTier: fc.constantFrom('standard', 'priority'),
  n: fc.nat(8),
  max_tokens: fc.nat(),
  models: fc.array(word),
}

/** Bodies of which most are accepted by a model that prices documents. */
export const geminiBodies: fc.Arbitrary<object> = fc
  .tuple(
    contents,
    fc.record({
      systemInstruction: now(text.map((one) => ({ parts: [{ text: one }] }))),
      tools: now(fc.array(tool, { maxLength: 3 })),
      toolConfig: now(choice),
      generationConfig: often(config),
    }),
    seldom(DEARER, 2),
    fc.boolean(),
  )
  .map(([all, options, dearer, stream]) => ({
    model: 'm',
    contents: all,
    ...options,
    ...dearer,
    ...(stream && { stream }),
  }))
