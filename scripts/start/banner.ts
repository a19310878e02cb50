import type { Demo } from './demo.ts'

/** A model as `GET /v1/models` lists it. */
export type ListedModel = { id: string; modality: string; credits: number }

/** A tiny PNG, for an image that needs no network. */
const onePixel =
  'data:image/png;base64,' +
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A curl command line. `address` is a word of the shell, quoted where necessary. */
function curl(address: string, key: string, body?: object, ...flags: string[]): string {
  const words = ['curl', '-s', address, '-H', `'Authorization: Bearer ${key}'`, ...flags]
  if (body !== undefined) {
    words.push('-H', "'Content-Type: application/json'", '-d', `'${JSON.stringify(body).replaceAll("'", "'\\''")}'`)
  }
  return words.join(' ')
}

/** Command lines to copy, one for each kind of model of the catalogue, each with a title. */
export function examples(base: string, key: string, models: readonly ListedModel[]): { title: string; line: string }[] {
  const first = (modality: string): ListedModel | undefined => models.find((model) => model.modality === modality)
  const [chat, image, video] = [first('chat'), first('image'), first('video')]
  const found = [{ title: 'models and prices', line: curl(`${base}/v1/models`, key) }]
  const call = (title: string, model: ListedModel | undefined, path: string, body: object): void => {
    if (model === undefined) return
    const price = model.modality === 'chat' ? 'per token' : `${model.credits} credits`
    found.push({ title: `${title} (${price})`, line: curl(`${base}${path}`, key, { model: model.id, ...body }) })
  }
  call('a chat', chat, '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello!' }] })
  call('an image', image, '/v1/images/generations', { prompt: 'a red fox in snow' })
  call('an edited image', image, '/v1/images/generations', { prompt: 'make it blue', image_url: onePixel })
  call('a video', video, '/v1/videos/generations', { prompt: 'waves at dusk', duration: 2 })
  const later = video ?? image
  if (later !== undefined) {
    const body = { model: later.id, prompt: 'a slow river' }
    const ask = curl(`${base}/v1/${later.modality}s/generations`, key, body, '-H', "'Prefer: respond-async'")
    const id = `$(${ask} | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`
    const title = `the same, accepted at once and fetched when it is done (${later.credits} credits)`
    found.push({ title, line: curl(`"${base}/v1/calls/${id}?wait=60"`, key) })
  }
  return found
}

type Shown = {
  base: string
  publicUrl: string
  hasMailPage: boolean
  demo: Demo
  models: readonly ListedModel[]
  took: string
}

/** What `npm start` prints when everything is up. */
export function banner({ base, publicUrl, hasMailPage, demo, models, took }: Shown): string {
  const password = demo.password ?? '(created from another data folder; see there)'
  return [
    '',
    `Tollgate is up after ${took}. Ctrl-C stops it; all but calls that still wait is kept for the next start.`,
    '',
    `  Console    ${publicUrl}/`,
    `  Sign in    ${demo.email}   ${password}`,
    `  API key    ${demo.key}`,
    `  Balance    ${demo.credits} credits`,
    ...(hasMailPage ? [`  Mails      ${publicUrl}/dev/mail`] : []),
    `  Operate    ${publicUrl}/operator`,
    '',
    ...examples(base, demo.key, models).flatMap(({ title, line }) => [`# ${title}`, line, '']),
  ].join('\n')
}
