/**
 * The fields of a request of Gemini's API, of three kinds: free ones, those of the schema, pass; dearer ones make an
 * upstream bill more than tokens at their prices, and are refused unless the model's upstreams allow them; all others
 * are unknown. Source: Google's reference of the Gemini API, "generateContent", November 2026.
 */
import { z } from 'zod'
import { asFields, isText, listOf as fieldsOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { MAX_STOP, MAX_TOKENS, jsonObject, listOf } from '../../requests/field-schemas.ts'
import type { FieldKinds } from '../check-body.ts'

/** Most contents, functions, parts of one content, and parts of all contents, those in results included. */
export const MOST = { contents: 20_000, tools: 512, parts: 20_000, partsInAll: 40_000 } as const

const text = z.string()

/** A word of an enumeration, in any case. @param words in capitals */
const word = (...words: string[]) =>
  z
    .custom<string>(
      (value) => isText(value) && words.includes(value.toUpperCase()),
      `must be one of ${words.join(', ')}`,
    )
    .meta({ type: 'string', enum: words })

const inlineData = z.strictObject({ mimeType: text.min(1).max(200), data: text, displayName: text.nullish() })
const fileData = z.strictObject({
  mimeType: text.max(200).nullish(),
  fileUri: text.min(1),
  displayName: text.nullish(),
})

// What a vendor adds to what its model called comes back with it.
const functionCall = z.looseObject({ id: text.nullish(), name: text.min(1), args: jsonObject.nullish() })

const functionResponse = z.strictObject({
  id: text.nullish(),
  name: text.min(1),
  response: jsonObject.nullish(),
  parts: listOf(
    z.strictObject({ inlineData: inlineData.nullish(), fileData: fileData.nullish() }),
    0,
    MOST.parts,
  ).nullish(),
  willContinue: z.boolean().nullish(),
  scheduling: text.nullish(),
})

/** What a part may have, one of them. */
const DATA = {
  text: text.nullish(),
  inlineData: inlineData.nullish(),
  fileData: fileData.nullish(),
  functionCall: functionCall.nullish(),
  functionResponse: functionResponse.nullish(),
  executableCode: z.looseObject({ code: text }).nullish(),
  codeExecutionResult: z.looseObject({ output: text.nullish() }).nullish(),
}

const hasOneOf = (part: Fields): boolean => {
  const count = Object.keys(DATA).filter((name) => (part[name] ?? null) !== null).length
  return count === 1 || (count === 0 && isText(part.thoughtSignature))
}

const part = z
  .strictObject({
    ...DATA,
    thought: z.boolean().nullish(),
    thoughtSignature: text.nullish(),
    mediaResolution: z.looseObject({ level: text.nullish() }).nullish(),
    videoMetadata: jsonObject.nullish(),
    partMetadata: jsonObject.nullish(),
  })
  .refine(hasOneOf, `must have one of ${Object.keys(DATA).join(', ')}`)

const parts = listOf(part, 0, MOST.parts)

/** A content. Older clients call the role of results `function`. */
export const content = z.strictObject({
  role: z.enum(['user', 'model', 'function'], 'Please use a valid role: user, model').nullish(),
  parts,
})

const functionDeclaration = z.strictObject({
  name: text.regex(/^[a-zA-Z_][\w.:-]{0,127}$/, 'must begin with a letter, and have letters, digits, _ . : - alone'),
  description: text.nullish(),
  parameters: jsonObject.nullish(),
  parametersJsonSchema: jsonObject.nullish(),
  response: jsonObject.nullish(),
  responseJsonSchema: jsonObject.nullish(),
  behavior: text.nullish(),
})

/** The tools that run at the upstream, which bills for their use. */
export const HOSTED = [
  'googleSearch',
  'googleSearchRetrieval',
  'codeExecution',
  'urlContext',
  'googleMaps',
  'fileSearch',
  'computerUse',
  'enterpriseWebSearch',
  'mcpServers',
] as const

const hosted = Object.fromEntries(HOSTED.map((name) => [name, z.unknown().optional()]))

const tool = z.strictObject({
  functionDeclarations: listOf(functionDeclaration, 0, MOST.tools).nullish(),
  ...(hosted as Record<(typeof HOSTED)[number], z.ZodOptional<z.ZodUnknown>>),
})

const toolConfig = z.strictObject({
  functionCallingConfig: z
    .strictObject({
      mode: word('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED').nullish(),
      allowedFunctionNames: listOf(text, 0, MOST.tools).nullish(),
    })
    .nullish(),
  retrievalConfig: jsonObject.nullish(),
  includeServerSideToolInvocations: z.boolean().nullish(),
})

const penalty = z.number().min(-2).max(2).nullish()

const generationConfig = z.strictObject({
  maxOutputTokens: z.int().min(1).max(MAX_TOKENS).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  topP: z.number().min(0).max(1).nullish(),
  topK: z.number().min(0).nullish(),
  candidateCount: z.literal(1, 'must be 1: send a request for each further candidate').nullish(),
  stopSequences: listOf(text.max(MAX_STOP), 0, 16).nullish(),
  seed: z.int().nullish(),
  presencePenalty: penalty,
  frequencyPenalty: penalty,
  responseMimeType: z.enum(['text/plain', 'application/json', 'text/x.enum']).nullish(),
  responseSchema: jsonObject.nullish(),
  responseJsonSchema: jsonObject.nullish(),
  responseLogprobs: z.boolean().nullish(),
  logprobs: z.int().min(0).max(20).nullish(),
  thinkingConfig: z
    .strictObject({
      includeThoughts: z.boolean().nullish(),
      thinkingBudget: z.int().min(-1).max(MAX_TOKENS).nullish(),
      thinkingLevel: word('THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH').nullish(),
    })
    .nullish(),
  mediaResolution: text.nullish(),
  enableEnhancedCivicAnswers: z.boolean().nullish(),
  responseModalities: listOf(text, 0, 4).nullish(),
  imageConfig: jsonObject.nullish(),
  speechConfig: jsonObject.nullish(),
})

const safetySetting = z.looseObject({ category: text, threshold: text })

/** The body. Its path names the model, and whether the answer is streamed. */
export const geminiBody = z.looseObject({
  model: text.optional(),
  stream: z.boolean().optional(),
  contents: listOf(content, 1, MOST.contents),
  systemInstruction: z.strictObject({ role: text.nullish(), parts }).nullish(),
  tools: listOf(tool, 0, MOST.tools).nullish(),
  toolConfig: toolConfig.nullish(),
  generationConfig: generationConfig.nullish(),
  safetySettings: listOf(safetySetting, 0, 20).nullish(),
})

/** The fields by their kinds. */
export const FIELDS: FieldKinds = {
  free: new Set(Object.keys(geminiBody.shape)),
  dearer: {
    cachedContent: 'what it stores is billed by its time, and adds input that cannot be counted',
    serviceTier: 'a tier is billed at a price of its own',
  },
  freeValues: { serviceTier: ['standard', 'SERVICE_TIER_STANDARD', 'SERVICE_TIER_UNSPECIFIED'] },
}

/** What of a generation is billed at a price of its own, by the name that an upstream's `allow` permits it by. */
const DEARER: Readonly<Record<string, (config: Fields) => boolean>> = {
  'generationConfig.responseModalities': ({ responseModalities: wanted }) =>
    Array.isArray(wanted) && wanted.some((one) => String(one).toUpperCase() !== 'TEXT'),
  'generationConfig.imageConfig': ({ imageConfig }) => (imageConfig ?? null) !== null,
  'generationConfig.speechConfig': ({ speechConfig }) => (speechConfig ?? null) !== null,
}

/** The name by which an upstream's `allow` permits files of the API's own, and of other addresses. */
export const FILE_DATA = 'fileData'

/** The names that a request needs in an upstream's `allow`, deeper than its own fields. */
export function dearerIn(request: Fields): string[] {
  const config = asFields(request.generationConfig)
  return [
    ...Object.keys(DEARER).filter((name) => DEARER[name]!(config)),
    ...hostedIn(request.tools),
    ...(hasFileData(request) ? [FILE_DATA] : []),
  ]
}

/** The tools of an upstream in a list of tools, each once. */
export const hostedIn = (tools: unknown): string[] =>
  HOSTED.filter((name) => fieldsOf(tools).some((one) => (one[name] ?? null) !== null))

const hasFileData = ({ contents, systemInstruction }: Fields): boolean =>
  [...fieldsOf(contents), asFields(systemInstruction)].some(({ parts: all }) =>
    fieldsOf(all).some((one) =>
      [one, ...fieldsOf(asFields(one.functionResponse).parts)].some((inner) => (inner.fileData ?? null) !== null),
    ),
  )
