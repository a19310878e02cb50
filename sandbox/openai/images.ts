import { reportedTokens } from '../chat/answer.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { FILLER_MARK } from '../http/outlet.ts'
import { publish } from '../media/files.ts'
import { looksLikeImage } from '../media/kinds.ts'
import { render } from '../media/render.ts'
import { pngSize } from '../media/png.ts'
import { pixelSize } from '../media/size.ts'
import { asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './errors.ts'

const TOKENS_PER_IMAGE = 1056

/** Images of OpenAI: made from a prompt, and edited (multipart). */
export const imageRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/images/generations',
    submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['prompt']) }),
    handle: makeImages,
  },
  {
    method: 'POST',
    path: '/v1/images/edits',
    submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['prompt']) }),
    handle: async (exchange) => {
      checkPictures(exchange)
      await makeImages(exchange)
    },
  },
]

function checkPictures({ body }: Exchange): void {
  if (!body.form) throw new Refusal({ status: 400, message: 'Send multipart/form-data.' })
  const pictures = body.files.filter((file) => file.field === 'image' || file.field === 'image[]')
  if (pictures.length === 0) throw invalid("Missing required parameter: 'image'.", 'image')
  for (const file of body.files) {
    if (looksLikeImage(file.bytes)) continue
    const message = `Invalid file '${file.field}': its bytes are no image.`
    throw new Refusal({ status: 400, message, code: 'invalid_image_format', param: file.field })
  }
  const mask = body.files.find((file) => file.field === 'mask')
  const [area, masked] = [pictures[0], mask].map((file) => file && pngSize(file.bytes))
  if (area && masked && (area.width !== masked.width || area.height !== masked.height)) {
    const message = 'Invalid mask image - mask size does not match image size.'
    throw new Refusal({ status: 400, message, code: 'invalid_image_file', param: 'mask' })
  }
}

/** As OpenAI's: its models of pictures always answer with bytes, and refuse to be asked for a form. */
function checkForm({ model, body: { fields } }: Exchange): void {
  if (!model.includes('gpt-image') || fields['response_format'] === undefined) return
  throw invalid("Unknown parameter: 'response_format'.", 'response_format')
}

async function makeImages(exchange: Exchange): Promise<void> {
  const { steering, prompt } = exchange
  const { fields } = exchange.body
  if (!exchange.model) throw invalid('you must provide a model parameter', 'model')
  if (!prompt) throw invalid("Missing required parameter: 'prompt'.", 'prompt')
  checkForm(exchange)
  const n = Number(fields['n'] ?? 1)
  if (!Number.isInteger(n) || n < 1 || n > 10) throw invalid('n must be from 1 to 10', 'n')
  const wantsUrl = fields['response_format'] === 'url' || exchange.model.includes('url')
  const linked = wantsUrl || steering['result-url'] !== undefined
  await admit(exchange, linked ? 'linked' : 'inline')
  const size = pixelSize(fields)
  const seeds = Array.from({ length: steering.empty ? 0 : (steering.pictures ?? n) }, (_, at) =>
    at === 0 ? prompt : `${prompt} #${at}`,
  )
  const data = await Promise.all(
    seeds.map(async (seed): Promise<Fields> => {
      const medium = { kind: 'image', size, seed, steering } as const
      return linked ? { url: publish(exchange, { ...medium, prompt }) } : { b64_json: await inlineImage(medium) }
    }),
  )
  await answer(exchange, {
    created: Math.floor(Date.now() / 1000),
    background: 'opaque',
    output_format: 'png',
    quality: qualityOf(exchange),
    size: `${size.width}x${size.height}`,
    data,
    ...usageOf(exchange, n),
  })
}

const qualityOf = ({ body: { fields }, steering }: Exchange): string => {
  const asked = asText(fields['quality'])
  return asked === '' || asked === 'auto' ? (steering.quality ?? 'low') : asked
}

/** The bytes as base64; under `[big]` with room for the filler. */
export async function inlineImage(medium: Parameters<typeof render>[0]): Promise<string> {
  const { bytes } = await render(medium)
  if (medium.steering.big === undefined) return bytes.toString('base64')
  // Base64 can be continued only after a multiple of three bytes.
  return Buffer.concat([bytes, Buffer.alloc((3 - (bytes.length % 3)) % 3)]).toString('base64') + FILLER_MARK
}

function usageOf({ prompt, steering }: Exchange, n: number): Fields {
  const counted = { input: Math.ceil(prompt.length / 4), output: TOKENS_PER_IMAGE * n }
  const tokens = reportedTokens(steering, counted)
  if (!tokens) return {}
  return {
    usage: {
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      total_tokens: tokens.input + tokens.output,
      input_tokens_details: { text_tokens: tokens.input, image_tokens: 0 },
    },
  }
}
