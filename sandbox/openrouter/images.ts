import { reportedTokens } from '../chat/answer.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { pixelSize } from '../media/size.ts'
import { invalid } from '../openai/errors.ts'
import { inlineImage } from '../openai/images.ts'
import { asText } from '../wire.ts'
import { costOf } from './cost.ts'

const TOKENS_PER_IMAGE = 1290

/** `POST /images`: the answer always has the images themselves. */
export const imagesRoute: Route = {
  method: 'POST',
  path: '/openrouter/api/v1/images',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['prompt']) }),
  handle: makeImages,
}

async function makeImages(exchange: Exchange): Promise<void> {
  const { model, prompt, steering } = exchange
  const { fields } = exchange.body
  if (!model) throw invalid('model is required', 'model')
  if (!prompt) throw invalid('prompt is required', 'prompt')
  const n = fields['n'] ?? 1
  if (!Number.isInteger(n) || (n as number) < 1 || (n as number) > 10) throw invalid('n must be from 1 to 10', 'n')
  await admit(exchange, 'inline')
  const size = pixelSize(fields)
  const count = steering.empty ? 0 : (steering.pictures ?? (n as number))
  const data = await Promise.all(
    Array.from({ length: count }, async (_, at) => ({
      b64_json: await inlineImage({ kind: 'image', size, seed: at === 0 ? prompt : `${prompt} #${at}`, steering }),
      media_type: 'image/png',
    })),
  )
  const counted = { input: Math.ceil(prompt.length / 4), output: TOKENS_PER_IMAGE * (n as number) }
  const tokens = reportedTokens(steering, counted)
  const usage = tokens && {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    cost: costOf(tokens.input + tokens.output),
  }
  await answer(exchange, { created: Math.floor(Date.now() / 1000), data, ...(usage && { usage }) })
}
