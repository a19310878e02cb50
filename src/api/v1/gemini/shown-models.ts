/** The list of models and one of them in the form of Google's Gemini API: chats and embeddings. */
import { z } from 'zod'
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { wholeNumber } from '../../endpoint/fields.ts'

/** How many models a page has by default. */
const PAGE = 50

const once = z.string({ error: 'must appear only once' }).optional()

/** Which page of the list is asked for. */
export const geminiPage = z.object({
  pageSize: wholeNumber(1, 1000)
    .optional()
    .meta({ description: `The most models to return, ${PAGE} if absent.` }),
  pageToken: once.meta({ description: 'The `nextPageToken` of the page before.' }),
})

/** A model in Google's form. */
export const geminiModel = z
  .strictObject({
    name: z.string().meta({ description: '`models/` and the id.' }),
    version: z.string(),
    displayName: z.string(),
    description: z.string(),
    inputTokenLimit: z.int().optional().meta({ description: 'Where the catalogue states it, as the next one.' }),
    outputTokenLimit: z.int().optional(),
    supportedGenerationMethods: z.array(z.string()),
  })
  .meta({ id: 'GeminiModel' })

/** A page of the list in Google's form. */
export const geminiModels = z
  .strictObject({ models: z.array(geminiModel), nextPageToken: z.string().optional() })
  .meta({ id: 'GeminiModelList' })

/** What a model can be asked for, by its kind. */
const METHODS: Partial<Record<Model['modality'], string[]>> = {
  chat: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embedding: ['embedContent', 'batchEmbedContents'],
}

/** Whether a model is in this list. */
export const isForGemini = ({ modality }: Model): boolean => METHODS[modality] !== undefined

/** A model that is in this list. */
export function presentForGemini(model: Model): z.input<typeof geminiModel> {
  const { contextLength, maxOutputTokens } = model.modality === 'chat' ? model : {}
  return {
    name: `models/${model.id}`,
    version: '1',
    displayName: model.name ?? model.id,
    description: model.description ?? '',
    ...(contextLength !== undefined && { inputTokenLimit: contextLength }),
    ...(maxOutputTokens !== undefined && { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods: METHODS[model.modality]!,
  }
}

/** The page that is asked for. @throws ApiError invalid_request for a token of no page */
export function pageForGemini(
  all: readonly Model[],
  { pageSize = PAGE, pageToken }: z.output<typeof geminiPage>,
): z.input<typeof geminiModels> {
  const models = all.filter(isForGemini)
  const before = pageToken === undefined ? -1 : models.findIndex(({ id }) => id === pageToken)
  if (pageToken !== undefined && before < 0) throw fieldRefusal('pageToken', 'is that of no page')
  const page = models.slice(before + 1, before + 1 + pageSize)
  const hasMore = before + 1 + pageSize < models.length
  return { models: page.map(presentForGemini), ...(hasMore && { nextPageToken: page.at(-1)!.id }) }
}
