/** How the protocols of upstreams present a key. */

/** The headers that present a key. */
export type Authorize = (apiKey: string) => Record<string, string>

/** `Authorization: Bearer <key>`, as most upstreams want it. */
export const bearer: Authorize = (key) => ({ authorization: `Bearer ${key}` })

/** As Anthropic's API wants it. */
export const anthropicKey: Authorize = (key) => ({ 'x-api-key': key })

/** As Google's API wants it: never in the address, which is logged on its way. */
export const googleKey: Authorize = (key) => ({ 'x-goog-api-key': key })

/** As fal wants it. */
export const falKey: Authorize = (key) => ({ authorization: `Key ${key}` })
