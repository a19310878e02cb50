/** The endpoints of Google's Gemini API. */
import { countGeminiTokens } from './count-tokens.ts'
import { PREFIXES } from './declared.ts'
import { batchEmbedContents, embedContent } from './embed.ts'
import { generateContent, streamGenerateContent } from './generate.ts'
import { listGeminiModels, showGeminiModel } from './models.ts'

/** All of them, below each of their paths. */
export const geminiEndpoints = [
  listGeminiModels,
  showGeminiModel,
  ...PREFIXES.flatMap((prefix) => [
    generateContent(prefix),
    streamGenerateContent(prefix),
    countGeminiTokens(prefix),
    embedContent(prefix),
    batchEmbedContents(prefix),
  ]),
] as const
